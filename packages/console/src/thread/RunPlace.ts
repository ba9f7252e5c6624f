/** Where a run belongs: what the rows of its work need to read more, to name people and to open previews. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { ArtifactBlock } from "@corral/domain/run/RunBlock"
import type { Message } from "@corral/domain/session/Message"
import { useMemo } from "react"

export interface RunPlace {
  readonly runId: HubRun["id"]
  readonly projectId: HubRun["projectId"] | undefined
  readonly targetId: HubRun["targetId"]
  /** Messages that people sent to the run, by id. */
  readonly inputs: ReadonlyMap<string, Message>
  /** Artifacts of the run by id, as the work names them. */
  readonly artifacts: Map<string, ArtifactBlock>
  /** Whether an earlier turn says why runs are not confined. */
  readonly isConfinementKnown: boolean
}

const none: ReadonlyArray<Message> = []

/** The same object while the run and its messages are the same. */
export const useRunPlace = (
  { id: runId, projectId, targetId }: Pick<HubRun, "id" | "projectId" | "targetId">,
  prompts: ReadonlyArray<Message> = none,
  isConfinementKnown = false
): RunPlace =>
  useMemo(
    () => ({
      runId,
      projectId,
      targetId,
      inputs: new Map(prompts.map((message) => [message.id, message])),
      artifacts: new Map(),
      isConfinementKnown
    }),
    [runId, projectId, targetId, prompts, isConfinementKnown]
  )
