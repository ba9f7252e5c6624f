/**
 * Recorder of what shells do with lines: the programs that ran, each with its folder and words, and the files that were opened or changed.
 *
 * Programs are scripts that only write down their words. Files are found by comparing the folder, and where `strace` is installed and wanted,
 * by the calls that opened them. Lines run in batches, each in its own process and folder.
 */
import { spawnSync } from "node:child_process"
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join, relative } from "node:path"
import { type InstalledShell, programPath } from "./Shells.ts"

/** Programs that write down their words. `pz` fails. */
export const PROGRAMS = ["pa", "pb", "pc", "pz"]
/** Real programs that start others. */
const WRAPPERS = ["timeout", "env", "nice", "nohup", "stdbuf"]
export const FOLDERS = ["d", "e", "d/e"]
export const FILES = ["f", "g", "d/f", "d/g", "1-2", "x", "d/x"]
const CONTENT = "x\n"
const SEPARATOR = "\u0001"

const recorder = (status: number): string =>
  `#!/bin/sh\nprintf '%s\\001' "$PWD" "\${0##*/}" "$@" > "$SEEN/$$"\nexit ${status}\n`

/** A program that ran: its folder, relative to the line's, and its words. */
export interface RecordedProgram {
  readonly folder: string
  readonly words: ReadonlyArray<string>
}

export interface Recording {
  readonly ran: ReadonlyArray<RecordedProgram>
  /** Files that were written, relative to the line's folder. */
  readonly written: ReadonlyArray<string>
  /** Files and folders that were opened for reading. Known only with `strace`. */
  readonly read: ReadonlyArray<string>
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

export class ShellRecorder {
  readonly #folder = realpathSync(mkdtempSync(join(tmpdir(), "corral-shells-")))
  readonly #bin = join(this.#folder, "bin")
  readonly #strace: string | undefined
  #batches = 0

  constructor(options: { readonly traces: boolean; readonly programs?: ReadonlyArray<string> }) {
    this.#strace = options.traces ? programPath("strace") : undefined
    mkdirSync(this.#bin)
    for (const name of options.programs ?? PROGRAMS) {
      writeFileSync(join(this.#bin, name), recorder(name === "pz" ? 1 : 0))
      chmodSync(join(this.#bin, name), 0o755)
    }
    for (const name of WRAPPERS) {
      const path = programPath(name)
      if (path !== undefined) symlinkSync(path, join(this.#bin, name))
    }
  }

  /** Whether it records files that are only read. */
  get traces(): boolean {
    return this.#strace !== undefined
  }

  /** What a shell did with each line. */
  play({ command }: InstalledShell, lines: ReadonlyArray<string>): ReadonlyArray<Recording> {
    const folder = join(this.#folder, `${++this.#batches}`)
    const works = lines.map((_, i) => this.#prepare(join(folder, `${i}`)))
    const script = lines
      .map((line, i) => {
        const at = join(folder, `${i}`)
        const words = [...command, line].map(quoted).join(" ")
        return `cd ${quoted(join(at, "work"))} && SEEN=${quoted(join(at, "seen"))} ${words} </dev/null >/dev/null 2>&1`
      })
      .join("\n")
    const log = join(folder, "log")
    const traced =
      this.#strace === undefined
        ? []
        : [
            this.#strace,
            "-f",
            "-z",
            "-y",
            "--seccomp-bpf",
            "-e",
            "trace=open,openat,openat2,creat",
            "-s",
            "1",
            "-o",
            log
          ]
    const [program = "", ...args] = [...traced, "/bin/sh", "-c", script]
    // The pipe is closed when the last program in the background has ended.
    spawnSync(program, args, {
      cwd: folder,
      env: { PATH: this.#bin, TMPDIR: this.#folder, HOME: this.#folder },
      stdio: ["ignore", "ignore", "ignore", "pipe"],
      timeout: 300_000,
      killSignal: "SIGKILL",
      maxBuffer: 1024
    })
    const opened =
      this.#strace === undefined ? new Map<string, Opened>() : openedFiles(readFileSync(log, "utf8"))
    const recordings = works.map((at) => recordingOf(at, opened))
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    return recordings
  }

  #prepare(at: string): string {
    mkdirSync(join(at, "seen"), { recursive: true })
    for (const name of FOLDERS) mkdirSync(join(at, "work", name), { recursive: true })
    for (const name of FILES) writeFileSync(join(at, "work", name), CONTENT)
    return at
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

interface Opened {
  readonly read: Set<string>
  readonly written: Set<string>
}

/** A path as `strace` writes it, with escaped bytes. */
const unescapedPath = (text: string): string =>
  Buffer.from(
    text.replaceAll(/\\(\d{1,3}|.)/g, (_, code: string) => {
      const named = { n: 10, t: 9, r: 13, v: 11, f: 12 }[code]
      return String.fromCharCode(named ?? (/^\d/.test(code) ? Number.parseInt(code, 8) : code.charCodeAt(0)))
    }),
    "latin1"
  ).toString("utf8")

/** Opened paths, by the folder of their line. */
const openedFiles = (log: string): Map<string, Opened> => {
  const found = new Map<string, Opened>()
  for (const line of log.split("\n")) {
    const [, flags = "", path = "", at = ""] =
      /, (O_[A-Z_|]+).* = \d+<(([^>]*\/\d+\/\d+)\/work[^>]*)>/.exec(line) ?? []
    if (path === "") continue
    const opened = found.get(at) ?? { read: new Set<string>(), written: new Set<string>() }
    found.set(at, opened)
    ;(/O_WRONLY|O_RDWR|O_CREAT|O_TRUNC/.test(flags) ? opened.written : opened.read).add(unescapedPath(path))
  }
  return found
}

const recordingOf = (at: string, opened: ReadonlyMap<string, Opened>): Recording => {
  const [seen, work] = [join(at, "seen"), join(at, "work")]
  const inWork = (path: string): string => relative(work, path) || "."
  const ran = readdirSync(seen).flatMap((name) => {
    const [folder = "", ...words] = readFileSync(join(seen, name), "utf8").split(SEPARATOR).slice(0, -1)
    return words.length === 0 ? [] : [{ folder: inWork(folder), words }]
  })
  const { read = [], written = [] } = opened.get(at) ?? {}
  return { ran, read: [...read].map(inWork), written: [...changedFiles(work), ...[...written].map(inWork)] }
}

/** Files that are not as they were prepared. */
const changedFiles = (work: string): ReadonlyArray<string> => {
  const entries = readdirSync(work, { recursive: true, withFileTypes: true })
  const found = new Set(entries.map((entry) => relative(work, join(entry.parentPath, entry.name))))
  const missing = [...FOLDERS, ...FILES].filter((path) => !found.has(path))
  const changed = [...found].filter((path) =>
    FOLDERS.includes(path)
      ? false
      : !FILES.includes(path) || readFileSync(join(work, path), "utf8") !== CONTENT
  )
  return [...missing, ...changed]
}
