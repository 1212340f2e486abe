describe('a file that fails always', () => {
  it('fails', () => {
    throw new Error('broken for good');
  });
});
