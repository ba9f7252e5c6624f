/** Where a run belongs: what the rows of its work need to read more, to name people and to open previews. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { ArtifactBlock } from "@corral/domain/run/RunBlock"
import type { Message } from "@corral/domain/session/Message"
import { useMemo } from "react"

/** An image of a run that the console can show, and where in the run it is. */
export interface RunImage {
  readonly artifactId: string
  readonly name: string
  readonly mediaType: string
  /** What the agent did to make it. */
  readonly step: string
  /** Number of that step, of `steps` so far. */
  readonly nth: number
  readonly steps: number
  /** ISO 8601. */
  readonly at: string
}

export interface RunPlace {
  readonly runId: HubRun["id"]
  /** Name of the agent. */
  readonly agent: string
  /** The message that began the run, on one line. */
  readonly title: string
  readonly projectId: HubRun["projectId"] | undefined
  readonly targetId: HubRun["targetId"]
  /** Messages that people sent to the run, by id. */
  readonly inputs: ReadonlyMap<string, Message>
  /** Artifacts of the run by id, as the work names them. */
  readonly artifacts: Map<string, ArtifactBlock>
  /** Images in the results of the run's tools by the id of their artifact, in order. */
  readonly images: Map<string, RunImage>
  /** Whether an earlier turn says why runs are not confined. */
  readonly isConfinementKnown: boolean
}

const none: ReadonlyArray<Message> = []

interface PlacedRun extends Pick<RunPlace, "runId" | "projectId" | "targetId" | "agent" | "title"> {
  readonly prompts?: ReadonlyArray<Message>
  readonly isConfinementKnown?: boolean
}

/** The same object while the run and its messages are the same. */
export const useRunPlace = ({
  agent,
  isConfinementKnown = false,
  projectId,
  prompts = none,
  runId,
  targetId,
  title
}: PlacedRun): RunPlace =>
  useMemo(
    () => ({
      runId,
      agent,
      title,
      projectId,
      targetId,
      inputs: new Map(prompts.map((message) => [message.id, message])),
      artifacts: new Map(),
      images: new Map(),
      isConfinementKnown
    }),
    [runId, agent, title, projectId, targetId, prompts, isConfinementKnown]
  )
