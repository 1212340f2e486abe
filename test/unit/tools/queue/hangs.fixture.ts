describe('a file that hangs', () => {
  it('blocks the event loop, so that no time-out of mocha ends it', () => {
    for (;;);
  });
});
