/** Change sets of runs at the Edge of a stage, whose answers are checked against their contract. */
import type { EarlierDecision } from "@corral/domain/changes/EarlierDecision"
import type { ChangedFileContent, ChangeSetPage, DecidedChanges } from "@corral/domain/edge-api/ChangeSet"
import type { ChangeHunkId, RunId } from "@corral/domain/identity/Ids"
import { assert } from "@effect/vitest"
import { hunkKey } from "./LayerWorkspace.ts"
import type { Stage } from "./Stage.ts"

export class LayerChanges {
  private readonly stage: Pick<Stage, "edge">

  constructor(stage: Pick<Stage, "edge">) {
    this.stage = stage
  }

  private async get<A>(path: string): Promise<A> {
    const { body, status, text } = await this.stage.edge.client.ask("GET", path)
    assert.strictEqual(status, 200, text)
    return body as A
  }

  read(runId: RunId): Promise<ChangeSetPage> {
    return this.get(`/v1/runs/${runId}/changes?limit=100`)
  }

  /** Ids of the undecided hunks, by `hunkKey`. */
  async hunks(runId: RunId): Promise<ReadonlyMap<string, ChangeHunkId>> {
    const { items: files } = await this.read(runId)
    const contents = await Promise.all(
      files.map(({ id }) => this.get<ChangedFileContent>(`/v1/runs/${runId}/changes/files/${id}?limit=100`))
    )
    return new Map(
      contents.flatMap(({ file, items }) => items.map(({ id, lines }) => [hunkKey(file.path, lines), id]))
    )
  }

  async decide(kind: "accept" | "reject" | "undo", runId: RunId, body: object): Promise<DecidedChanges> {
    const answer = await this.stage.edge.client.ask("POST", `/v1/runs/${runId}/changes/${kind}`, { body })
    assert.strictEqual(answer.status, 200, answer.text)
    return answer.body as DecidedChanges
  }

  /** Decides the hunks with these keys. */
  async decideHunks(
    kind: "accept" | "reject",
    runId: RunId,
    keys: ReadonlyArray<string>,
    more: object = {}
  ): Promise<DecidedChanges> {
    const found = await this.hunks(runId)
    const hunks = keys.map((key) => found.get(key))
    assert.notInclude(hunks, undefined, [...found.keys()].join("\n\n"))
    return this.decide(kind, runId, { parts: { hunks }, ...more })
  }
}

/** What the next run of the layer hears of a decision. */
export const earlierDecision = (
  { decision: { comment, fileCount, files, id, kind, rejected } }: DecidedChanges,
  reversed?: "accept" | "reject"
): EarlierDecision => ({
  id,
  kind,
  files: files.map(({ hunks, path }) => ({ path, hunks })),
  fileCount,
  ...(comment === undefined ? {} : { comment }),
  ...(rejected === undefined ? {} : { rejected }),
  ...(reversed === undefined ? {} : { reversed })
})
