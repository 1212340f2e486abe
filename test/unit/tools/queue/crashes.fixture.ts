describe('a file that ends its process', () => {
  it('says so, and is gone', () => {
    console.log('last words');
    process.exit(7);
  });
});
