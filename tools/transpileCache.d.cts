/** See transpileCache.cjs. */
export const FOLDER: string;
export function translator(folder: string): (text: string, filename: string) => string;
