import * as fs from 'node:fs';
import * as path from 'node:path';
import { runCommand } from './runCommand';
import { DOWNLOAD_MS, VERSIONS } from './versions';

/** The suites of Debian that are looked into besides those the machine is set up for. */
const SUITES: readonly string[] = ['trixie', 'forky'];

/** What a server needs of its dependencies: libraries and the parts of the server itself, no services and no tools. */
const NEEDED = /^(lib|lua|zlib|redis-|valkey-)/;

/** A package that can be had. */
export interface AptPackage {
  readonly name: string;
  /** Debian's own, e.g. `5:8.0.2-3+deb13u2`. */
  readonly version: string;
  readonly suite: string;
}

/**
 * Packages of the suites above, and of the backports of the machine's own suite, from where the machine gets its own.
 * With lists and a cache of its own: nothing is installed, and apt's own state stays as it is.
 */
export class AptPackages {
  readonly #root = path.join(VERSIONS, 'apt');
  #updated: Promise<string | undefined> | undefined;

  /** Packages of that name. */
  async find(name: string): Promise<readonly AptPackage[] | { readonly reason: string }> {
    const problem = await (this.#updated ??= this.#update());
    if (problem !== undefined) return { reason: problem };
    const { stdout } = await this.#apt('apt-cache', ['madison', name]);
    return stdout.split('\n').flatMap((line) => {
      const [, version, source] = line.split('|').map((part) => part.trim());
      const suite = source?.split(' ')[1]?.split('/')[0];
      return version === undefined || suite === undefined ? [] : [{ name, version, suite }];
    });
  }

  /**
   * Downloads a package with the libraries that it needs, and unpacks them into a folder.
   *
   * @returns whether that worked
   */
  async unpack({ name, version, suite }: AptPackage, folder: string): Promise<boolean> {
    const wanted = `${name}=${version}`;
    const flags = ['install', '--print-uris', '-qq', '-y', '--no-install-recommends', '-t', suite];
    const { stdout } = await this.#apt('apt-get', [...flags, wanted]);
    // 'uri' file size hash, where the file is name_version_architecture.deb
    const packages = [...stdout.matchAll(/^'[^']+' ([^_ ]+)_([^_ ]+)_\S+\.deb /gm)]
      .map(([, one, its]) => `${one}=${decodeURIComponent(its!)}`)
      .filter((one) => NEEDED.test(one));
    if (packages.length === 0) return false;
    const debs = path.join(folder, 'debs');
    fs.mkdirSync(debs, { recursive: true });
    if (!(await this.#apt('apt-get', ['download', '-qq', ...packages], debs)).succeeded) return false;
    for (const deb of fs.readdirSync(debs)) {
      const unpacked = await runCommand('dpkg-deb', ['-x', path.join(debs, deb), folder], { limitMs: 30_000 });
      if (!unpacked.succeeded) return false;
    }
    for (const unused of [debs, path.join(folder, 'usr', 'share'), path.join(folder, 'etc')]) {
      fs.rmSync(unused, { recursive: true, force: true });
    }
    return true;
  }

  /** @returns why there are none; `undefined` when there are */
  async #update(): Promise<string | undefined> {
    const [own, ...targets] = await this.#targets();
    if (own === undefined) return 'this machine has no package source of Debian';
    for (const folder of ['lists/partial', 'cache/archives/partial', 'state']) {
      fs.mkdirSync(path.join(this.#root, folder), { recursive: true });
    }
    // No package is installed, so that every library comes along.
    fs.writeFileSync(path.join(this.#root, 'state', 'status'), '');
    fs.writeFileSync(path.join(this.#root, 'sources.list'), [own, ...targets, ''].join('\n'));
    // A suite that is not there fails the update, but not that of the others.
    await this.#apt('apt-get', ['update', '-qq']);
    const lists = fs.readdirSync(path.join(this.#root, 'lists')).filter((file) => file.includes('_Packages'));
    return lists.length === 0 ? 'the package source of this machine did not answer' : undefined;
  }

  /** Lines of a sources.list. */
  async #targets(): Promise<string[]> {
    const codename = /^VERSION_CODENAME="?(\w+)/m.exec(readIfThere('/etc/os-release'))?.[1];
    if (codename === undefined || !/^ID=debian$/m.test(readIfThere('/etc/os-release'))) return [];
    const format = ['indextargets', '--format', '$(REPO_URI) $(RELEASE) $(COMPONENT)', 'Created-By: Packages'];
    const { stdout } = await runCommand('apt-get', format, { limitMs: 30_000 });
    const uri = stdout
      .split('\n')
      .map((line) => line.split(' '))
      .find(([, suite, component]) => suite === codename && component === 'main')?.[0];
    if (uri === undefined) return [];
    const keys = '/usr/share/keyrings/debian-archive-keyring.gpg';
    const signed = fs.existsSync(keys) ? `[signed-by=${keys}] ` : '';
    const suites = new Set([codename, `${codename}-backports`, ...SUITES]);
    return [...suites].map((suite) => `deb ${signed}${uri} ${suite} main`);
  }

  #apt(command: 'apt-get' | 'apt-cache', args: readonly string[], cwd = this.#root): ReturnType<typeof runCommand> {
    const settings = {
      'Dir::Etc::SourceList': path.join(this.#root, 'sources.list'),
      'Dir::Etc::SourceParts': '-',
      'Dir::Etc::Preferences': '/dev/null',
      'Dir::Etc::PreferencesParts': '/dev/null',
      'Dir::State': path.join(this.#root, 'state'),
      'Dir::State::Lists': path.join(this.#root, 'lists'),
      'Dir::State::status': path.join(this.#root, 'state', 'status'),
      'Dir::Cache': path.join(this.#root, 'cache'),
      // Hooks of the machine are for its own packages.
      'APT::Update::Post-Invoke': '',
      'APT::Update::Post-Invoke-Success': '',
      'APT::Sandbox::User': 'root',
      'Acquire::Languages': 'none',
      'Acquire::IndexTargets::deb::DEP-11::DefaultEnabled': 'false',
      'Acquire::Retries': '2',
    };
    const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
    return runCommand(command, [...options, ...args], { cwd, limitMs: DOWNLOAD_MS });
  }
}

function readIfThere(file: string): string {
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '';
}
