describe('a file that passes', () => {
  it('passes', () => undefined);
  it.skip('is skipped', () => undefined);
});
