import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as ts from 'typescript';
import { projectRoot } from '../../tools/buildOutput';

/**
 * What a user's code is called by where no caller waits for it: the listeners, and the members of the objects that
 * users give. (`map` is also that of arrays: only those of a mapper count.)
 */
const CALLEES =
  /^(?:listener|entry|nameOf|(?:this\.#?)?logger(?:\?\.)?(?:\[\w+\]|\.\w+)|.*[mM]apper\.(?:un)?map|.*(?:#provider|credentials)\.onReAuthenticationError|ending\?\.dispose|method)$/;

/** What a file has that has such a call: the others need not be parsed. */
const MAY_HAVE =
  /\b(?:listener|entry|nameOf|method)\(|\blogger\b|[mM]apper\.(?:un)?map\(|onReAuthenticationError|ending\?/;

/** Where its caller waits: that call throws, or rejects, with the error of the user's code. And code that is ours. */
const OTHERS: Readonly<Record<string, string>> = {
  'lib/config/validateName.ts mapper.map': 'getLock() and the like throw it',
  'lib/connection/link/connectionOptions.ts natMapper.map': 'the connection attempt fails with it',
  'lib/connection/link/connectionOptions.ts mapper.map': 'the connection attempt fails with it',
  'lib/util/listeners.ts listener': 'the entry that callUserCode calls',
  'lib/testing/MemoryServer.ts listener': 'ours',
  'lib/connection/cluster/ClusterView.ts listener': 'ours',
  'lib/connection/link/loginSources.ts listener': 'ours',
  'lib/connection/link/portLogins.ts listener': 'ours',
  'lib/operators/dashboard/createDashboard.ts nameOf': 'ours',
  'lib/operators/inspection/peek.ts nameOf': 'ours',
};

/** Calls in lib that match, outside of what is given to `callUserCode`. */
function unguarded(file: string): string[] {
  const text = fs.readFileSync(path.join(projectRoot, file), 'utf8');
  if (!MAY_HAVE.test(text)) return [];
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node)) {
      const callee = node.expression.getText(source).replaceAll(/\s+/g, '');
      // A function that only passes the call on, as `#callUserCode` of a class does.
      if (/(?:^|#)callUserCode$/.test(callee)) return;
      if (CALLEES.test(callee)) found.push(`${file} ${callee}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

describe('code of the user for which no caller waits', () => {
  const files = fs
    .readdirSync(path.join(projectRoot, 'lib'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => path.posix.join('lib', file.split(path.sep).join('/')));

  it('is called by callUserCode alone: it must not stop us, nor end the process', () => {
    const calls = files.flatMap(unguarded).filter((call) => !(call in OTHERS));
    expect(new Set(files.flatMap(unguarded))).to.include.all.keys(...Object.keys(OTHERS));
    expect(calls.map((call) => `${call}: call it by callUserCode of lib/util/userCode.ts`)).to.deep.equal([]);
  });
});
