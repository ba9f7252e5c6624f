/**
 * A shell in a control group that waits for the program which it becomes. It entered the group ahead of time: that takes a grace period of the
 * kernel, 8 to 20 ms on an idle machine, for which a start does not wait.
 *
 * Guarantees: the program keeps the shell's process, session and group, and has nothing else of it: its environment, folder and open files are
 * those of the command. Without a command, the shell ends with the process that started it.
 *
 * Does not: remove the group.
 */
import { accessSync, constants, existsSync, readFileSync } from "node:fs"
import { type ChildProcess, spawn } from "node:child_process"
import { basename } from "node:path"
import { Writable } from "node:stream"
import { makeGroup } from "./ControlGroup.ts"

/** Clears the environment of the shell, which adds variables to it. */
const ENV = "/usr/bin/env"
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

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** The shell reads all of it before it runs any of it, because afterwards its stdin is another. */
const scriptOf = ({ args, cwd, env, file, hasControl, hasStdin }: LauncherCommand): string => {
  const descriptors = `<${hasStdin ? `&${STDIN}` : "/dev/null"} ${STDIN}<&-${hasControl ? "" : " 3<&-"}`
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  const command = [ENV, "-i", "--", ...variables, file, ...args].map(quoted).join(" ")
  return `{ cd ${quoted(cwd)} && exec ${command} ${descriptors}; exit 126; }\n`
}

export class Launcher {
  readonly group: string
  readonly #child: ChildProcess
  #hasExited = false

  private constructor(group: string, child: ChildProcess) {
    this.group = group
    this.#child = child
    child.once("error", () => (this.#hasExited = true))
    child.once("exit", () => (this.#hasExited = true))
    child.stdin?.on("error", () => undefined)
  }

  /** Starts a shell that enters the group, which is created. `undefined` if that is not possible here. */
  static start(group: string): Launcher | undefined {
    if (!existsSync(ENV)) return undefined
    try {
      makeGroup(group)
      const script = `echo 0 >"$0/cgroup.procs" || exit 126; exec /bin/sh`
      const child = spawn("/bin/sh", ["-c", script, group], {
        cwd: "/",
        env: {},
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
    try {
      return readFileSync(`/proc/${this.#child.pid}/cgroup`, "utf8").includes(`/${basename(this.group)}\n`)
    } catch {
      return false
    }
  }

  /** Becomes the program. Returns its process, and its stdin. Throws the error of the operating system, like a start without a launcher. */
  launch(command: LauncherCommand): { readonly child: ChildProcess; readonly stdin: Writable | undefined } {
    accessSync(command.cwd, constants.X_OK)
    const stdin = this.#child.stdio[STDIN]
    this.#child.stdin?.end(scriptOf(command))
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
