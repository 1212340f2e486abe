import { build } from './buildOutput';

try {
  build();
} catch {
  // The compiler has said what is wrong.
  process.exitCode = 1;
}
