describe('a file of which only one test is to run', () => {
  it.only('this one', () => undefined);
});
