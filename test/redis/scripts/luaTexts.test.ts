import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as ts from 'typescript';
import { lua } from '../../../lib/scripts/Script';
import { allScripts, scriptFiles } from '../../../tools/scripts';
import { parseLua } from '../../../tools/luaParser';
import { fixedIndexes, functionsOf, globalAssignments, globalsOf, timesNamed } from './luaTree';

/** What Redis gives every script and what of the standard library of Lua is used. */
const GLOBALS = ['redis', 'KEYS', 'ARGV', 'math', 'string', 'ipairs', 'tonumber', 'type'];

/** The templates of a source file that call Redis and are not marked by the tag `lua`, by their beginning. */
function unmarkedTemplates(source: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    const marked = ts.isTaggedTemplateExpression(node.parent) && node.parent.tag.getText() === 'lua';
    if (ts.isTemplateLiteral(node) && !marked && /\bredis\.p?call\(/.test(node.getText())) {
      found.push(node.getText().slice(0, 60));
    }
    ts.forEachChild(node, visit);
  };
  ts.forEachChild(ts.createSourceFile('x.ts', source, ts.ScriptTarget.Latest, true), visit);
  return found;
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i + 1);
}

describe('the Lua of the scripts', () => {
  it('is that of every script that the source defines', () => {
    const files = scriptFiles();
    expect(files).not.to.have.lengthOf(0);
    for (const { file, defined, calls, scripts } of files) {
      expect(defined, `${file} does not begin a definition with its name`).to.have.lengthOf(calls);
      expect(
        scripts.map(({ name }) => name),
        `${file} does not export every script`,
      ).to.have.members(defined);
    }
  });

  it('is marked by the tag wherever it stands', () => {
    const lib = path.resolve(__dirname, '../../../lib');
    const files = fs.readdirSync(lib, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
    const unmarked = files.flatMap((file) => unmarkedTemplates(fs.readFileSync(path.join(lib, file), 'utf8')));
    expect(unmarked).to.deep.equal([]);
    expect(unmarkedTemplates("const a = `redis.call('get')`; lua`redis.call('get')`")).to.have.lengthOf(1);
  });

  it('has its parts joined as they stand', () => {
    expect(lua`local a = '%d\n' .. ${1}${' .. b'}`).to.equal("local a = '%d\\n' .. 1 .. b");
  });

  for (const script of allScripts()) {
    describe(script.name, () => {
      const text = script.lua;
      const publishes = script.args.includes('publish') && !script.saysUnheard;

      it('is Lua 5.1, without a line for a shell, which would make a function library of it', () => {
        expect(parseLua(text).body).not.to.have.lengthOf(0);
        expect(text).not.to.contain('#!');
      });

      it('knows no global variables but those of Redis and Lua, and assigns none', () => {
        const tree = parseLua(text);
        expect(globalsOf(tree).filter((name) => !GLOBALS.includes(name))).to.deep.equal([]);
        expect(globalAssignments(tree)).to.deep.equal([]);
      });

      it('names every key and argument, once, and by its name from then on', () => {
        const tree = parseLua(text);
        expect(fixedIndexes(tree, 'KEYS')).to.deep.equal(upTo(script.realKeys.length));
        expect(fixedIndexes(tree, 'ARGV')).to.deep.equal(upTo(script.args.length + script.channels.length));
        const unused = [...script.keys, ...script.args].filter((name) => timesNamed(tree, name) < 2);
        expect(unused).to.deep.equal([]);
      });

      it('publishes so that a refusal is reported', () => {
        const own = script.body.match(/\bredis\.p?call\(publish\b/g) ?? [];
        expect(own).to.have.lengthOf(script.saysUnheard ? 1 : 0);
        if (publishes) expect(script.body).to.contain('tellAll(publish, ');
      });

      it('has functions that use their parameters, each other, and nothing else, and no function that nobody calls', () => {
        // What `defineScript` puts around a script that publishes is a function on purpose.
        const functions = functionsOf(script.body);
        const known = publishes ? [...GLOBALS, 'tellAll'] : GLOBALS;
        const outside = globalsOf(parseLua(functions.text)).filter((name) => !known.includes(name));
        expect(outside).to.deep.equal([]);
        const tree = parseLua(text);
        expect(functions.names.filter((name) => timesNamed(tree, name) < 2)).to.deep.equal([]);
      });
    });
  }
});

describe('the checks of the Lua', () => {
  it('find what they look for', () => {
    const bad = lua`
local a, b = KEYS[1], ARGV[7]
local function reads() return a end
c = 1
math.huge = 2
function d() end
ARGV[2] = reads()
`;
    const tree = parseLua(bad);
    expect(globalsOf(tree)).to.include.members(['c', 'd']);
    expect(globalAssignments(tree)).to.deep.equal(['c', 'math', 'd', 'ARGV']);
    expect(fixedIndexes(tree, 'KEYS')).to.deep.equal([1]);
    expect(fixedIndexes(tree, 'ARGV')).to.deep.equal([7, 2]);
    expect(globalsOf(parseLua(functionsOf(bad).text))).to.include('a');
    expect(() => parseLua('if x the')).to.throw(SyntaxError);
  });
});
