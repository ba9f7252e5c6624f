/** Command of a run, as its adapter writes it and as the Edge starts it. Starts nothing. */
import type { RunId } from "@corral/domain/identity/Ids"
import { RuntimeUnavailable } from "@corral/domain/errors/Failures"
import type { CreateRun } from "@corral/domain/run/Run"
import type { RunStart } from "@corral/domain/run/RuntimeAdapter"
import { Effect } from "effect"
import { join } from "node:path"
import type { EdgeConfig } from "../config/EdgeConfig.ts"
import { childEnvironment } from "../process/ChildEnvironment.ts"
import type { SubprocessSpec } from "../process/Subprocess.ts"
import { temporaryFolderOf } from "../process/TemporaryFolder.ts"
import type { OfferedAgent } from "../runtime/OfferedAgent.ts"
import type { Runtimes } from "../runtime/Runtimes.ts"

interface CommandContext {
  readonly config: EdgeConfig
  readonly runtimes: Runtimes["Service"]
  /** Trace context of the request, for the program. */
  readonly traceparent?: string | undefined
}

/** What a function of an adapter returns. An adapter from outside may throw. */
export const callAdapter = <A>({ id }: OfferedAgent, call: () => A): Effect.Effect<A, RuntimeUnavailable> =>
  Effect.try({
    try: call,
    catch: (cause) =>
      new RuntimeUnavailable({
        message: cause instanceof Error ? cause.message : `The adapter of ${id} failed.`,
        details: { reason: "adapter_failed", agentId: id }
      })
  })

/** The command that starts the agent's program: its file, its arguments, and an environment of the allowed variables. */
export const runtimeCommandOf = Effect.fnUntraced(function* (
  request: CreateRun,
  { config, runtimes, traceparent }: CommandContext,
  agent: OfferedAgent,
  start: RunStart,
  id: RunId
): Effect.fn.Return<SubprocessSpec, RuntimeUnavailable> {
  const {
    file,
    args,
    bridge,
    env,
    settingsFiles = [],
    stdin
  } = yield* callAdapter(agent, () => agent.adapter.command(start))
  const program = yield* runtimes.locate(agent, file)
  const cwd = start.workspacePath
  const temporary = temporaryFolderOf(config.home, id)
  const environment = childEnvironment({
    edge: config.environment,
    pass: agent.passEnv,
    set: {
      ...(traceparent === undefined ? {} : { TRACEPARENT: traceparent }),
      ...request.env,
      ...env,
      ...Object.fromEntries(settingsFiles.map((settings) => [settings.env, join(temporary, settings.name)]))
    },
    cwd,
    temporary
  })
  const [started, ...startArgs] = [...(bridge ?? []), program, ...args]
  return {
    file: started ?? program,
    args: startArgs,
    ...(bridge === undefined ? {} : { bridged: program }),
    cwd,
    stdin,
    temporary,
    settingsFiles,
    env: environment
  }
})
