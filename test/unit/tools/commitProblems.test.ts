import { expect } from 'chai';
import { commitProblems, readCommits } from '../../../tools/commitProblems';

describe('the messages of commits', () => {
  const log = (subject: string, body: string): string => `0123456789abcdef\n${subject}\n${body}\0`;
  const problems = (subject: string, body: string): string[] => commitProblems(readCommits(log(subject, body)));

  it('a short subject and a body that says why are fine', () => {
    expect(problems('s'.repeat(72), 'Because.\n')).to.deep.equal([]);
    expect(commitProblems(readCommits(''))).to.deep.equal([]);
  });

  it('a long subject, no body, and a body of trailers alone are not', () => {
    expect(problems('s'.repeat(73), 'Because.')).to.match(/^0123456789 "s+": the subject has 73 characters/);
    expect(problems('Short', '\n')).to.deep.equal(['0123456789 "Short": no body that says why']);
    expect(problems('Short', 'Signed-off-by: Somebody <a@b>\n')).to.have.lengthOf(1);
  });

  it('each commit of several is judged', () => {
    const [first, second, ...more] = commitProblems(
      readCommits(log('One', '') + log('Two', 'Why.') + log('Three', '')),
    );
    expect(first).to.include('"One"');
    expect(second).to.include('"Three"');
    expect(more).to.deep.equal([]);
  });
});
