/** A user's home with the state of a runtime, and an Edge that opens private copies of it. */
import type { RunId, WorkspaceId } from "@corral/domain/identity/Ids"
import type { RuntimeFolders } from "@corral/domain/run/RuntimeFolders"
import { Effect, Exit, Layer, Scope } from "effect"
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { EdgeConfig, makeEdgeConfig } from "../../src/config/EdgeConfig.ts"
import { folderContents } from "../../src/confinement/probe/EscapeScene.ts"
import { RuntimeStates, type StateUser } from "../../src/confinement/RuntimeStates.ts"
import type { RunLife } from "../../src/process/TemporaryFolder.ts"
import { openFolder } from "../Folder.ts"

export const write = (path: string, content: string): void => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}

export interface OpenedRun {
  /** The run's copy of the first folder of the state. */
  readonly layer: string
  readonly mounts: ReadonlyArray<{
    readonly kind: string
    readonly path: string
    readonly source?: string | undefined
  }>
  readonly env: Readonly<Record<string, string>>
  /** Ends the run. */
  readonly end: () => Promise<void>
}

export class StateHome {
  readonly folder = realpathSync(openFolder())
  readonly home = join(this.folder, "home")
  readonly edge = join(this.folder, "edge")
  readonly workspace = join(this.folder, "work", "api")
  readonly #folders: RuntimeFolders
  #states: RuntimeStates["Service"] | undefined

  constructor(folders: RuntimeFolders) {
    this.#folders = folders
    for (const path of [this.home, this.edge, this.workspace]) mkdirSync(path, { recursive: true })
  }

  /** A path of the user's home. */
  path(...names: ReadonlyArray<string>): string {
    return join(this.home, ...names)
  }

  write(path: string, content: string): void {
    write(this.path(path), content)
  }

  read(path: string): string | undefined {
    return existsSync(this.path(path)) ? readFileSync(this.path(path), "utf8") : undefined
  }

  /** What is in the home: a line for each entry. */
  contents(): ReadonlyArray<string> {
    return folderContents(this.home)
  }

  /** Another Edge of the same home. */
  async restart(): Promise<void> {
    this.#states = await Effect.runPromise(
      Effect.scoped(
        Effect.map(
          Layer.build(
            Layer.fresh(
              Layer.provide(
                RuntimeStates.layer,
                Layer.succeed(EdgeConfig, makeEdgeConfig({ home: this.edge }))
              )
            )
          ),
          (services) => Effect.runSync(Effect.provideContext(RuntimeStates, services))
        )
      )
    )
  }

  async states(): Promise<RuntimeStates["Service"]> {
    if (this.#states === undefined) await this.restart()
    if (this.#states === undefined) throw new Error("no Edge was started")
    return this.#states
  }

  user(run: string, more: Partial<StateUser> = {}): StateUser {
    return {
      folders: this.#folders,
      env: {},
      home: this.home,
      root: this.workspace,
      ids: { run: run as RunId, workspace: "api" as WorkspaceId },
      temporary: join(this.edge, "tmp", run),
      canMount: true,
      ...more
    }
  }

  async open(run: string, more: Partial<StateUser> = {}): Promise<OpenedRun> {
    const { open } = await this.states()
    const scope = Scope.makeUnsafe()
    const { env, mounts } = await Effect.runPromise(Scope.provide(open(this.user(run, more)), scope))
    const shown = mounts.map((mount) => ({ ...mount, source: "source" in mount ? mount.source : undefined }))
    const layer = shown.find(({ kind }) => kind === "write")
    return {
      layer: layer?.source ?? layer?.path ?? "",
      mounts: shown,
      env,
      end: () => Effect.runPromise(Scope.close(scope, Exit.void))
    }
  }

  /** Continues a run of an earlier Edge, until the result is called. */
  async adopt(run: string, life?: RunLife): Promise<() => Promise<void>> {
    const { adopt } = await this.states()
    const scope = Scope.makeUnsafe()
    await Effect.runPromise(Scope.provide(adopt(this.user(run, { life })), scope))
    return () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}
