/** Resolves in a later turn of the event loop: what waits in the sockets is read before. */
export function laterTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Resolves when all have settled, or after so many ms. It alone does not keep the process alive. */
export function settledWithin(operations: readonly Promise<unknown>[], ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms).unref();
    void Promise.allSettled(operations).then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
