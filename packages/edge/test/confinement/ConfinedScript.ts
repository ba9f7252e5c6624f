/** A shell script as a confined run of an Edge, which has the state of runtimes and ends after it. */
import type { RunId, WorkspaceId } from "@corral/domain/identity/Ids"
import type { RunMode } from "@corral/domain/run/Run"
import type { RuntimeFolders } from "@corral/domain/run/RuntimeFolders"
import { Effect, Layer } from "effect"
import { spawnSync } from "node:child_process"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { EdgeConfig, makeEdgeConfig } from "../../src/config/EdgeConfig.ts"
import { Confinement } from "../../src/confinement/Confinement.ts"

const PATH = "/usr/local/bin:/usr/bin:/bin"

export interface ConfinedScript {
  readonly script: string
  readonly mode: RunMode
  readonly folders: RuntimeFolders
  readonly home: string
  /** The Edge's home. */
  readonly edge: string
  readonly workspace: string
  /** The Edge's `PATH`. */
  readonly path?: string
  /** Variables of the runtime. */
  readonly env?: Readonly<Record<string, string>>
}

/** Gives what the script printed. */
export const runConfined = ({
  edge,
  env = {},
  folders,
  home,
  mode,
  path = PATH,
  script,
  workspace
}: ConfinedScript): Promise<string> =>
  Effect.gen(function* () {
    const { confine } = yield* Confinement
    const temporary = join(edge, "tmp", "run_a")
    mkdirSync(temporary, { recursive: true })
    const spec = yield* confine(
      {
        ids: { run: "run_a" as RunId, workspace: "api" as WorkspaceId },
        mode,
        workspace,
        attachments: undefined,
        folders,
        network: undefined,
        grants: [],
        user: { ask: () => Effect.succeed("denied"), report: () => undefined }
      },
      {
        file: "/bin/sh",
        args: ["-c", script],
        cwd: workspace,
        env: { ...env, PATH, HOME: home, TMPDIR: temporary },
        stdin: "ignore",
        temporary
      }
    )
    const { stderr, stdout } = spawnSync(spec.file, spec.args, {
      cwd: spec.cwd,
      env: spec.env,
      encoding: "utf8"
    })
    return `${stdout}${stderr}`
  }).pipe(
    Effect.scoped,
    Effect.provide(
      Layer.provide(
        Confinement.layer,
        Layer.succeed(
          EdgeConfig,
          makeEdgeConfig({ home: edge, confinement: "required", environment: { PATH: path, HOME: home } })
        )
      )
    ),
    Effect.runPromise
  )
