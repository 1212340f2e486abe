import * as prettier from 'prettier';

/** A text as prettier leaves it. @param file - where it is to be written, whose settings count */
export async function formatted(file: string, text: string): Promise<string> {
  return prettier.format(text, { ...(await prettier.resolveConfig(file)), filepath: file });
}
