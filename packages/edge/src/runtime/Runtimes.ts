/**
 * The runtimes of this machine: which adapters there are, where their programs are, which version answers.
 *
 * A probe runs `<program> <versionArgs>` once per path and modification time, 10 s at most. It does not sign in and asks no model:
 * that a program is found does not promise that it will work.
 */
import type { Agent } from "@corral/domain/Agent"
import { InvalidAgentId, RuntimeUnavailable } from "@corral/domain/Failures"
import type { AgentId } from "@corral/domain/Ids"
import type { RuntimeAdapter } from "@corral/domain/RuntimeAdapter"
import { Context, Effect, Layer } from "effect"
import { execFile } from "node:child_process"
import { statSync } from "node:fs"
import { tmpdir } from "node:os"
import { childEnvironment, findProgram } from "../process/ChildEnvironment.ts"
import type { EdgeConfig } from "../EdgeConfig.ts"

export class Runtimes extends Context.Service<
  Runtimes,
  {
    readonly get: (id: AgentId) => Effect.Effect<RuntimeAdapter, InvalidAgentId>
    /** The program of that name as an absolute path; fails where it is not on PATH. */
    readonly locate: (adapter: RuntimeAdapter, file: string) => Effect.Effect<string, RuntimeUnavailable>
    readonly list: Effect.Effect<ReadonlyArray<Agent>>
    /** Counts something an adapter had no name for. */
    readonly countUnknown: (adapter: RuntimeAdapter, what: string) => void
  }
>()("corral/edge/Runtimes") {
  static readonly layer = (config: EdgeConfig, adapters: ReadonlyMap<string, RuntimeAdapter>) =>
    Layer.sync(Runtimes, () => {
      const versions = new Map<string, Effect.Effect<string | undefined>>()
      const unknown = new Map<string, number>()
      const { environment } = config

      const version = Effect.fnUntraced(function* (program: string, args: ReadonlyArray<string>) {
        const key = JSON.stringify([program, statSync(program).mtimeMs, args])
        const known = versions.get(key) ?? (yield* Effect.cached(askVersion(program, args, environment)))
        versions.set(key, known)
        return yield* known
      })

      const describe = Effect.fnUntraced(function* (adapter: RuntimeAdapter) {
        const { id, label, capabilities, probe } = adapter
        const base = { id: id as AgentId, label, runtime: id, capabilities }
        const program = findProgram(probe.command, environment.PATH)
        if (program === undefined) {
          return { ...base, available: false, reason: "command_missing", hint: probe.install } satisfies Agent
        }
        const found = yield* version(program, probe.versionArgs)
        return {
          ...base,
          available: true,
          ...(found === undefined ? {} : { version: found })
        } satisfies Agent
      })

      return Runtimes.of({
        get: (id) =>
          Effect.suspend(() => {
            const adapter = adapters.get(id)
            return adapter === undefined ? Effect.fail(new InvalidAgentId()) : Effect.succeed(adapter)
          }),
        locate: (adapter, file) =>
          Effect.suspend(() => {
            const program = findProgram(file, environment.PATH)
            return program === undefined
              ? Effect.fail(
                  new RuntimeUnavailable({
                    message: `${adapter.label} is not installed. ${adapter.probe.install}`,
                    details: { reason: "command_missing", agentId: adapter.id }
                  })
                )
              : Effect.succeed(program)
          }),
        list: Effect.forEach([...adapters.values()], describe, { concurrency: 4 }),
        countUnknown: (adapter, what) => {
          const key = `${adapter.id} ${what}`
          unknown.set(key, (unknown.get(key) ?? 0) + 1)
        }
      })
    })
}

const PROBE_MS = 10_000
const VERSION = /\d+\.\d+\.\d+[-\w.]*/

/** The first thing in its output that looks like a version, without a sentence's final dot. */
const askVersion = (program: string, args: ReadonlyArray<string>, own: Readonly<Record<string, string>>) =>
  Effect.callback<string | undefined>((resume) => {
    const env = childEnvironment({ own, pass: [], set: {}, cwd: tmpdir(), temporary: tmpdir() })
    const child = execFile(program, [...args], { env, cwd: tmpdir(), timeout: PROBE_MS }, (_error, stdout) =>
      resume(Effect.succeed(VERSION.exec(stdout)?.[0].replace(/\.$/, "")))
    )
    child.stdin?.end()
    return Effect.sync(() => child.kill("SIGKILL"))
  })
