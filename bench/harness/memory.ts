/** Bytes of JavaScript heap in use after everything collectable is collected. Needs `--expose-gc`. */
export async function settledHeap(): Promise<number> {
  if (globalThis.gc === undefined) throw new Error('start Node with --expose-gc');
  for (let pass = 0; pass < 3; pass += 1) {
    globalThis.gc();
    // Finalizers and what they free come in a later turn.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return process.memoryUsage().heapUsed;
}
