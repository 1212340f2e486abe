import { expect } from 'chai';
import { licenceProblems, vulnerabilities } from '../../../tools/dependencyProblems';

describe('the check of dependencies', () => {
  it('names a dependency whose licence nobody has agreed to, but no development package', () => {
    const locked = {
      '': { license: 'Apache-2.0' },
      'node_modules/good': { license: 'MIT' },
      'node_modules/good/node_modules/@of/bad': { license: 'GPL-3.0' },
      'node_modules/none': {},
      'node_modules/ours': { license: 'GPL-3.0', dev: true },
    };
    const problems = licenceProblems(locked, []);
    expect(problems).to.have.length(2);
    expect(problems[0]).to.match(/^@of\/bad: the licence GPL-3\.0/);
    expect(problems[1]).to.match(/^none: the licence no licence/);
  });

  it('names what a bundle contains', () => {
    const text = 'fine 1.2.3 (ISC)\n\nThe text (of it)\n\n@x/odd 2.0.0-beta.1 (SSPL-1.0)\n\nMore\n';
    expect(licenceProblems({}, [text]))
      .to.have.length(1)
      .and.satisfy(([one]: string[]) => one!.startsWith('@x/odd'));
  });

  it('tells known vulnerabilities, and a registry that says nothing', () => {
    const report = { vulnerabilities: { yaml: { severity: 'high', range: '<2.9' } } };
    expect(vulnerabilities(JSON.stringify(report))).to.deep.equal([
      'yaml <2.9: known vulnerability (high); see npm audit',
    ]);
    expect(vulnerabilities('{"vulnerabilities":{}}')).to.deep.equal([]);
    for (const none of ['', '{"message":"405"}', 'npm error']) expect(vulnerabilities(none)).to.equal(undefined);
  });
});
