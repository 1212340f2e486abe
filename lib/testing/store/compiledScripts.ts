import type { ScriptCompiler } from './luaRuntime';

/**
 * The scripts of all kinds as JavaScript.
 *
 * `npm run build` compiles them; when the sources are run, tools/register.cjs compiles a script at its first use. So
 * neither the compiler nor the parser of Lua is in the package. This file is used only where neither has run.
 */
export const compiledScripts: ScriptCompiler = () => (_text, sha) => {
  throw new Error(`the script ${sha} is not compiled: run \`npm run build\``);
};
