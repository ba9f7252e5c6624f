/**
 * The client `acpx` with `corral acp` as its agent, in a folder that only this client has.
 *
 * `acpx` leaves a process behind that owns the session. `remove` ends it and the agent.
 */
import { noNetwork } from "@corral/testing/process/RegistryProgram"
import { RunningProgram } from "@corral/testing/process/RunningProgram"
import { until } from "@corral/testing/time/Until"
import { assert } from "@effect/vitest"
import { createHash } from "node:crypto"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { program } from "../e2e/Corral.ts"

export interface AcpxOptions {
  /** Folder with the command. */
  readonly bin: string
  /** Home with the Edge or the sign-in. */
  readonly home: string
  /** Arguments of `corral acp`. */
  readonly args: ReadonlyArray<string>
}

/** Decides everything that the agent asks. */
export type Permissions = "--approve-all" | "--deny-all"

interface Line {
  readonly method?: string
  readonly params?: {
    readonly update?: {
      readonly sessionUpdate?: string
      readonly content?: { readonly text?: string }
    }
  }
  readonly result?: { readonly stopReason?: string }
}

/** What a prompt printed. */
export interface Turn {
  readonly exit: number | string
  /** Methods of all messages, in order. */
  readonly methods: ReadonlyArray<string>
  /** Text of the agent. */
  readonly text: string
  readonly stopReason: string | undefined
}

const turnOf = async (prompt: RunningProgram): Promise<Turn> => {
  const { exit, out } = await prompt.done
  const lines = out.map((line): Line => JSON.parse(line))
  return {
    exit,
    methods: lines.flatMap(({ method }) => method ?? []),
    text: lines
      .flatMap(({ params }) =>
        params?.update?.sessionUpdate === "agent_message_chunk" ? [params.update.content?.text ?? ""] : []
      )
      .join(""),
    stopReason: lines.findLast(({ result }) => result?.stopReason !== undefined)?.result?.stopReason
  }
}

const isAlive = (pid: number): boolean => existsSync(`/proc/${pid}`)

export class Acpx {
  private readonly folder = mkdtempSync(join(realpathSync(tmpdir()), "corral-acpx-"))
  private readonly pids = join(this.folder, "agents")
  private readonly agent = join(this.folder, "agent")
  private readonly options: AcpxOptions

  constructor(options: AcpxOptions) {
    this.options = options
    mkdirSync(join(this.folder, "code"))
    writeFileSync(this.pids, "")
    const words = [process.execPath, program, "acp", ...options.args].map((word) => `'${word}'`)
    writeFileSync(this.agent, `#!/bin/sh\necho $$ >> '${this.pids}'\nexec ${words.join(" ")}\n`, {
      mode: 0o700
    })
  }

  /** A command to its end. */
  async command(...words: ReadonlyArray<string>): Promise<void> {
    const { exit, out, stderr } = await this.spawn(words).done
    assert.strictEqual(exit, 0, `${words.join(" ")}: ${out.join("\n")}\n${stderr}`)
  }

  /** A prompt that runs. */
  start(permissions: Permissions, text: string): RunningProgram {
    return this.spawn(["--format", "json", permissions, "prompt", text])
  }

  /** What a prompt has printed at its end. */
  turn(prompt: RunningProgram): Promise<Turn> {
    return turnOf(prompt)
  }

  /** A prompt to the end of its turn. */
  prompt(permissions: Permissions, text: string): Promise<Turn> {
    return turnOf(this.start(permissions, text))
  }

  /** Kills the agent in progress. */
  killAgent(): void {
    const pid = this.agents.at(-1)
    assert.isDefined(pid)
    process.kill(pid, "SIGKILL")
  }

  /** Ends the owner of the session, and waits for its agent. */
  async endOwner(): Promise<void> {
    const queues = join(this.folder, ".acpx", "queues")
    for (const name of existsSync(queues) ? readdirSync(queues) : []) {
      const { pid } = JSON.parse(readFileSync(join(queues, name), "utf8"))
      if (typeof pid === "number" && isAlive(pid)) process.kill(pid, "SIGTERM")
    }
    await until(async () => !this.agents.some(isAlive) || undefined, "the end of the agent")
  }

  async remove(): Promise<void> {
    try {
      await this.endOwner()
    } finally {
      rmSync(this.folder, { recursive: true, force: true })
      // Its sockets: the path of one in the home can be too long.
      const sockets = createHash("sha256").update(this.folder).digest("hex").slice(0, 10)
      rmSync(`/tmp/acpx-${sockets}`, { recursive: true, force: true })
    }
  }

  private get agents(): ReadonlyArray<number> {
    return readFileSync(this.pids, "utf8").split("\n").filter(Boolean).map(Number)
  }

  private spawn(words: ReadonlyArray<string>): RunningProgram {
    const { bin, home } = this.options
    const code = join(this.folder, "code")
    const args = [join(bin, "acpx"), "--agent", this.agent, "--cwd", code, ...words]
    return new RunningProgram(process.execPath, args, {
      cwd: code,
      env: {
        ...noNetwork,
        PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
        HOME: this.folder,
        TMPDIR: this.folder,
        CORRAL_HOME: home
      }
    })
  }
}
