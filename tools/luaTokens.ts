import { createRequire } from 'node:module';

interface Token {
  readonly type: number;
  readonly range: readonly [start: number, end: number];
}

interface Lexer {
  lex(): Token;
}

const luaparse = createRequire(__filename)('luaparse') as {
  parse(text: string, options: Readonly<Record<string, unknown>>): Lexer;
  readonly tokenTypes: Readonly<Record<'EOF', number>>;
};

/** A Lua text without what does not count: comments, line breaks and indentation. */
export function luaTokens(text: string): string {
  const lexer = luaparse.parse(text, { wait: true, luaVersion: '5.1' });
  const tokens: string[] = [];
  for (let token = lexer.lex(); token.type !== luaparse.tokenTypes.EOF; token = lexer.lex())
    tokens.push(text.slice(...token.range));
  return tokens.join(' ');
}
