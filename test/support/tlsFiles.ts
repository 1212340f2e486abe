import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';

/** Paths of PEM files: a self-signed certificate for 127.0.0.1 and localhost, which is its own authority. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

const made = new Map<string, TlsFiles | undefined>();
/** The names of the certificate, unless a test wants others. */
const NAMES = 'DNS:localhost,IP:127.0.0.1';

/**
 * A fresh certificate of this process for {@link RedisServer} and its clients, removed when the process ends.
 * `undefined` where there is no `openssl` to make one: a test says so and skips.
 *
 * @param altNames - whom it is for, as openssl has it
 */
export function tlsFiles(altNames = NAMES): TlsFiles | undefined {
  if (!made.has(altNames)) made.set(altNames, make(altNames));
  return made.get(altNames);
}

function make(altNames: string): TlsFiles | undefined {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ioredisson-tls-'));
  process.on('exit', () => fs.rmSync(folder, { recursive: true, force: true }));
  const cert = path.join(folder, 'cert.pem');
  const key = path.join(folder, 'key.pem');
  const names = ['-subj', '/CN=localhost', '-addext', `subjectAltName=${altNames}`];
  const args = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', key, '-out', cert, ...names];
  try {
    execFileSync('openssl', args, { stdio: 'ignore' });
  } catch {
    return undefined;
  }
  return { cert, key, ca: cert };
}
