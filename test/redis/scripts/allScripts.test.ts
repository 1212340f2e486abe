import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { replyText } from '../../../lib/connection/link/replyErrors';
import { lua } from '../../../lib/scripts/Script';
import { slotOf } from '../../../lib/util/names';
import { allScripts } from '../../../tools/scripts';
import { monitor, redisUrl, trackClient } from '../../support';
import { keyOf, layOut, runSample, SAMPLES, titleOf } from './samples';
import { useBench } from './ScriptBench';

/** Before a script: an index beyond what is passed is an error, and not nil. */
const NO_OTHERS = lua`
for label, given in pairs({KEYS = KEYS, ARGV = ARGV}) do
  setmetatable(given, {__index = function(_, i) error(label .. '[' .. tostring(i) .. '] is not passed') end})
end`;

describe('scripts', () => {
  const bench = useBench();
  const scripts = allScripts();

  it('load, have the sha they say, and a name of their own', async () => {
    for (const script of scripts) {
      expect(await bench().redis.script('LOAD', script.lua), script.name).to.equal(script.sha);
      expect(createHash('sha1').update(script.lua).digest('hex')).to.equal(script.sha);
    }
    expect(new Set(scripts.map(({ name }) => name)).size).to.equal(scripts.length);
  });

  it('are all sampled below', () => {
    const sampled = new Set(SAMPLES.map(({ script }) => script.name));
    expect(scripts.map(({ name }) => name).filter((name) => !sampled.has(name))).to.deep.equal([]);
  });

  for (const sample of SAMPLES) {
    it(`${titleOf(sample)} runs, and reads no key and no argument that it is not given`, async () => {
      const { name } = bench();
      await layOut(bench(), sample, name);
      const { script } = sample;
      await runSample(bench(), { ...sample, script: { ...script, lua: `${NO_OTHERS}\n${script.lua}` } }, name);
    });
  }

  for (const sample of SAMPLES) {
    for (const role of sample.guarded) {
      it(`${titleOf(sample)} changes nothing where ${role} holds another type`, async () => {
        const { name, redis } = bench();
        await layOut(bench(), sample, name);
        await redis.del(keyOf(role, name));
        await redis.xadd(keyOf(role, name), '*', 'field', 'value');
        const before = await bench().dump();
        const error: unknown = await runSample(bench(), sample, name).then(
          (value) => value,
          (reason: unknown) => reason,
        );
        expect(replyText(error as Error)).to.match(/^WRONGTYPE/);
        expect(await bench().dump()).to.deep.equal(before);
        expect(await bench().messages()).to.deep.equal([]);
      });
    }
  }

  for (const sample of SAMPLES.filter(({ script }) => script.resend !== 'never')) {
    it(`${titleOf(sample)} changes nothing when it is sent again`, async () => {
      const { name } = bench();
      await layOut(bench(), sample, name);
      await runSample(bench(), sample, name);
      const once = await bench().dump();
      await runSample(bench(), sample, name, true);
      expect(await bench().dump()).to.deep.equal(once);
    });
  }

  for (const form of ['NAME', 'a{NAME}b', 'a:b c:NAME', '{NAME}:ключ']) {
    it(`stay on the slot of the name, channels too, for names like ${form}`, async () => {
      const name = form.replace('NAME', bench().name);
      const seen = trackClient(await monitor(redisUrl(), (command) => command.fromScript));
      // One is for servers that are no cluster.
      for (const sample of SAMPLES.filter(({ script }) => script.name !== 'inspection.peek')) {
        await layOut(bench(), sample, name);
        await runSample(bench(), sample, name);
        await bench().redis.del(...(await bench().keys()), name);
      }
      const commands = await seen.commands();
      expect(commands.length).to.be.greaterThan(SAMPLES.length);
      for (const { name: command, args } of commands) {
        const keys = command === 'del' ? args.slice(1) : args.slice(1, 2);
        // MONITOR shows what is not ASCII escaped; the tag, which decides, is ASCII in those names
        for (const key of keys) expect(slotOf(key), args.join(' ')).to.equal(slotOf(name));
      }
    });
  }
});
