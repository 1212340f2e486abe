/** What the exit codes of the command mean; those from 64 on are numbered as in BSD's sysexits.h. */
export const ExitCode = {
  ok: 0,
  /** `unlock`: there was no such lock. `run`: not acquired, unless `--conflict-exit-code` says otherwise. */
  no: 1,
  /** Wrong usage or configuration. */
  usage: 64,
  /** The name belongs to data of another type, or Redis refuses the command. */
  data: 65,
  /** Redis is unreachable, does not answer, or does not let us in. */
  unavailable: 69,
  /** A defect of ours. */
  internal: 70,
  /** Our output cannot be written: a full disk. */
  output: 74,
  /** The lock was lost while the command ran. */
  lockLost: 75,
  /** As in a shell: the command cannot be executed. */
  notExecutable: 126,
  /** As in a shell: there is no such command. */
  notFound: 127,
  /** As in a shell: plus the number of the signal. */
  signalled: 128,
  /** As in a shell for a command that SIGPIPE ended: whoever read our output has gone. */
  readerGone: 141,
} as const;
