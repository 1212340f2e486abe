/** The version of this package. Not read from `package.json`, which a bundle does not have; a test compares the two. */
export const VERSION = '0.1.0';
