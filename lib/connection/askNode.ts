import type { StandaloneLink } from './StandaloneLink';

/** How long a node may take to answer a question about its cluster, in ms; then another one is asked. */
const TIMEOUT_MS = 1_000;

/** The reply of a node, or an error when it takes too long. */
export async function askNode(link: StandaloneLink, command: string, ...args: string[]): Promise<unknown> {
  const sentAt = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      link.unanswered(undefined, sentAt);
      reject(new Error(`${link.address} does not answer`));
    }, TIMEOUT_MS);
  });
  try {
    return await Promise.race([link.send(command, args), late]);
  } finally {
    clearTimeout(timer);
  }
}
