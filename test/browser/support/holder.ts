import { Redisson } from '../../../lib';

// Holds a lock until it is killed: `holder.ts <url> <name>`.
const [url, name] = process.argv.slice(-2);
void Redisson.create(url)
  .getLock(name!)
  .lock()
  .then(() => process.stdout.write('held\n'));
