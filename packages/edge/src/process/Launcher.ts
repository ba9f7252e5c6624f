/**
 * Launcher of programs: a shell that waits for the program which it becomes, prepared a moment after the last one was taken. A large process takes milliseconds to start another, and to enter a
 * control group takes a grace period of the kernel: 8 to 20 ms on an idle machine.
 *
 * Guarantees: the program keeps the shell's process, session and group, and has nothing else of it: its environment, folder and open files are those of the command. Without a command, the shell ends
 * with the process that started it. At most one launcher waits. The first one is prepared after the first program.
 *
 * Does not: remove the group.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { accessSync, constants, existsSync, readFileSync } from "node:fs"
import { basename } from "node:path"
import { Writable } from "node:stream"
import { makeGroup, removeGroup } from "./ControlGroup.ts"

/** Milliseconds. */
const PREPARE_AFTER = 25

export class PreparedLauncher {
  readonly #start: () => Launcher | undefined
  #next: Launcher | undefined
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(start: () => Launcher | undefined) {
    this.#start = start
  }

  /** The launcher, if one is ready. Prepares the next one. */
  take(): Launcher | undefined {
    if (this.#isClosed) return undefined
    const launcher = this.#next
    this.#timer ??= setTimeout(() => this.#prepare(), PREPARE_AFTER).unref()
    if (launcher?.isReady !== true) return undefined
    this.#next = undefined
    return launcher
  }

  /** Ends the launcher, and removes its group. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    if (this.#next !== undefined) await endLauncher(this.#next)
  }

  #prepare(): void {
    this.#timer = undefined
    if (this.#next?.hasExited === false) return
    if (this.#next !== undefined) void endLauncher(this.#next)
    this.#next = this.#start()
  }
}

/** Ends a launcher without a program, and removes its group. */
export const endLauncher = async (launcher: Launcher): Promise<void> => {
  await launcher.discard()
  if (launcher.group !== undefined) removeGroup(launcher.group)
}

/** Variable of a shell that waits: a search would take a process without variables for one that executes another program. */
const LAUNCHER_MARK = "CORRAL_LAUNCHER"
/** Removes the variables that the shell has or adds to its environment. */
const ENV = "/usr/bin/env"
const SHELL_VARIABLES = [LAUNCHER_MARK, "OLDPWD", "PWD", "SHLVL", "_"]
/** Variables that have a meaning to shells, or that they do not let change. */
const RESERVED = /^(?:BASH.*|EUID|IFS|LINENO|OPTIND|PPID|SHELLOPTS|UID)$/
/** Descriptor of the program's stdin. The shell reads its command from its own. */
const STDIN = 4

export interface LauncherCommand {
  readonly file: string
  readonly args: ReadonlyArray<string>
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** Whether stdin is a pipe. */
  readonly hasStdin: boolean
  /** Whether the program has descriptor 3. */
  readonly hasControl: boolean
}

export interface LaunchedProgram {
  readonly child: ChildProcess
  readonly stdin: Writable | undefined
}

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

/**
 * The shell reads all of it before it runs any of it, because afterwards its stdin is another. Values of variables are in no command line, which
 * other users can read.
 */
export const launchScript = ({ args, cwd, env, file, hasControl, hasStdin }: LauncherCommand): string => {
  const descriptors = `<${hasStdin ? `&${STDIN}` : "/dev/null"} ${STDIN}<&-${hasControl ? "" : " 3<&-"}`
  const variables = Object.entries(env).map(([name, value]) => `${name}=${quoted(value)}`)
  const removed = SHELL_VARIABLES.filter((name) => env[name] === undefined)
  const command = [ENV, ...removed.flatMap((name) => ["-u", name]), "--", file, ...args].map(quoted).join(" ")
  // Some shells warn of a locale that the system does not have.
  const exported = variables.length === 0 ? "" : `export ${variables.join(" ")} 2>/dev/null && `
  return `{ cd ${quoted(cwd)} && ${exported}exec ${command} ${descriptors}; exit 126; }\n`
}

const canLaunch = ({ env, file }: LauncherCommand): boolean =>
  !file.includes("=") &&
  Object.keys(env).every((name) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !RESERVED.test(name))

export class Launcher {
  /** Its control group. */
  readonly group: string | undefined
  readonly #child: ChildProcess
  #hasExited = false

  private constructor(group: string | undefined, child: ChildProcess) {
    this.group = group
    this.#child = child
    child.once("error", () => (this.#hasExited = true))
    child.once("exit", () => (this.#hasExited = true))
    child.stdin?.on("error", () => undefined)
  }

  /** Starts a shell. It enters the group, which is created. `undefined` if that is not possible here. */
  static start(group?: string): Launcher | undefined {
    if (!existsSync(ENV)) return undefined
    try {
      if (group !== undefined) makeGroup(group)
      const script = `echo 0 >"$0/cgroup.procs" || exit 126; exec /bin/sh`
      const child = spawn("/bin/sh", group === undefined ? [] : ["-c", script, group], {
        cwd: "/",
        env: { [LAUNCHER_MARK]: "1" },
        detached: true,
        stdio: ["pipe", "pipe", "pipe", "pipe", "pipe"]
      })
      return new Launcher(group, child)
    } catch {
      return undefined
    }
  }

  get hasExited(): boolean {
    return this.#hasExited || this.#child.pid === undefined
  }

  /** Whether it has entered its group, and waits for its command. */
  get isReady(): boolean {
    if (this.hasExited) return false
    if (this.group === undefined) return true
    try {
      return readFileSync(`/proc/${this.#child.pid}/cgroup`, "utf8").includes(`/${basename(this.group)}\n`)
    } catch {
      return false
    }
  }

  /**
   * Becomes the program. Returns its process, and its stdin. Throws the error of the operating system, like a start without a launcher. Ends and
   * returns `undefined` for a command that a shell cannot become.
   */
  launch(command: LauncherCommand): LaunchedProgram | undefined {
    if (!canLaunch(command)) return void this.discard()
    try {
      accessSync(command.cwd, constants.X_OK)
    } catch (error) {
      void this.discard()
      throw error
    }
    const stdin = this.#child.stdio[STDIN]
    this.#child.stdin?.end(launchScript(command))
    if (!command.hasControl) this.#child.stdio[3]?.destroy()
    if (command.hasStdin && stdin instanceof Writable) return { child: this.#child, stdin }
    stdin?.destroy()
    return { child: this.#child, stdin: undefined }
  }

  /** Ends the shell, if it has no command. Resolves when it has ended. */
  discard(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#hasExited) return resolve()
      this.#child.once("exit", () => resolve())
      this.#child.kill("SIGKILL")
      for (const stream of this.#child.stdio) stream?.destroy()
    })
  }
}
