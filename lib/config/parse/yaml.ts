/** What is used of the package yaml: the build makes one file of it, which holds nothing else. */
export { isMap, isPair, isScalar, LineCounter, parse, parseDocument, visit } from 'yaml';
