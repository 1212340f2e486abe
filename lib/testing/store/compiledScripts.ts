import type { ScriptCompiler } from './luaRuntime';

/**
 * The scripts of all kinds as JavaScript.
 *
 * `npm run build` compiles them; for whoever runs the sources, tools/register.cjs compiles a script when it is first
 * used. So neither the compiler nor the parser of Lua is in the package. This one is used only where neither was.
 */
export const compiledScripts: ScriptCompiler = () => (_text, sha) => {
  throw new Error(`the script ${sha} is not compiled: run \`npm run build\``);
};
