/** `corral up`: everything in one process. Today that is an Edge; a sample workspace comes with it where none is configured. */
import { WorkspaceName } from "@corral/domain/Ids"
import type { WorkspaceEntry } from "@corral/edge/EdgeConfig"
import { Deferred, Effect, Exit, Option, Schema, Scope } from "effect"
import { Command, Flag } from "effect/cli"
import { resolve } from "node:path"
import { CommandFailed, exitCodes, refused } from "../CommandFailed.ts"
import { Host, receiveSignal } from "../Host.ts"
import { ensureSample, SAMPLE_ID } from "../SampleWorkspace.ts"

/** From the signal to the end of the process, at most. */
const STOP_LIMIT = "9500 millis"

const isWorkspaceName = Schema.is(WorkspaceName)

export const up = Command.make(
  "up",
  {
    port: Flag.Int("port").pipe(
      Flag.withDescription("Port of the Edge; 0 takes any free one (CORRAL_EDGE_PORT)"),
      Flag.withSchema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 65_535 }))),
      Flag.optional
    ),
    workspace: Flag.KeyValuePair("workspace").pipe(
      Flag.withDescription("A folder that runs may work in, as id=path; may be given several times"),
      Flag.optional
    )
  },
  Effect.fn(function* ({ port, workspace }) {
    const host = yield* Host
    const added = yield* Effect.forEach(Object.entries(Option.getOrElse(workspace, () => ({}))), entryOf)

    const stop = yield* Deferred.make<void>()
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      yield* receiveSignal(signal, () => Deferred.doneUnsafe(stop, Exit.void))
    }

    // Only this command needs a whole Edge; the others start faster without.
    const { edgeService, configure } = yield* Effect.promise(() => import("../EdgeService.ts"))
    const configured = yield* configure(host.environment, Option.getOrUndefined(port))
    const given = [...configured.workspaces, ...added]
    const workspaces =
      given.length > 0
        ? given
        : [{ id: SAMPLE_ID, path: yield* Effect.sync(() => ensureSample(configured.home)) }]
    const config = { ...configured, workspaces }

    const scope = yield* Scope.make()
    const { url } = yield* edgeService(config).pipe(
      Scope.provide(scope),
      Effect.tapError(() => Scope.close(scope, Exit.void))
    )
    host.write(
      host.terminal
        ? welcome({ url, tokenFile: config.tokenFile, workspaces, invocation: host.invocation })
        : `${JSON.stringify({ ready: true, service: "corral", url })}\n`
    )
    yield* Deferred.await(stop)
    const stopped = yield* Effect.timeoutOption(Scope.close(scope, Exit.void), STOP_LIMIT)
    if (Option.isNone(stopped)) {
      return yield* new CommandFailed({
        message: "Some of it did not stop in time.",
        exitCode: exitCodes.failed
      })
    }
  }, Effect.scoped)
).pipe(Command.withDescription("Start Corral on this machine, until Ctrl-C"))

const entryOf = ([id, path]: readonly [string, string]): Effect.Effect<WorkspaceEntry, CommandFailed> =>
  isWorkspaceName(id)
    ? Effect.succeed({ id, path: resolve(path) })
    : Effect.fail(refused(`--workspace takes id=path; "${id}" cannot be an id.`))

interface Welcome {
  readonly url: string
  readonly tokenFile: string
  readonly workspaces: ReadonlyArray<WorkspaceEntry>
  readonly invocation: string
}

const welcome = ({ url, tokenFile, workspaces, invocation }: Welcome): string => `
Corral is running at ${url}
  token       in ${tokenFile}
${workspaces.map(({ id, path }) => `  workspace   ${id} (${path})\n`).join("")}
Try, in another terminal:
  ${invocation} run --agent scripted --workspace ${workspaces[0]?.id ?? SAMPLE_ID} "Read the notes and write a summary"

Ctrl-C ends it.
`
