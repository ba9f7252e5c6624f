/**
 * Artifacts that belong to results of tool calls, until the result of the call comes.
 *
 * Guarantees: they follow from the log alone, so that the next Edge has the same.
 */
import { draft, type EventDraft, type PayloadOf } from "@corral/domain/run/RunEvent"
import { SparseMap } from "@corral/domain/run/SparseMap"

type Part = NonNullable<PayloadOf<"run.tool.result">["content"]>[number]

const kindOf = (mediaType: string): Part["type"] => {
  const [family] = mediaType.split("/", 1)
  return family === "image" || family === "audio" ? family : "resource"
}

export class ResultContents {
  /** By call, in the order of the artifacts. */
  readonly #parts = new SparseMap<string, Array<Part>>()
  #published = 0

  /** Artifacts that belong to no call: those that tools and the program published, and plans. */
  get published(): number {
    return this.#published
  }

  /** Follows an event of the log. */
  read(event: EventDraft): void {
    if (event.type === "run.artifact.ready") this.#add(event.payload)
    else if (event.type === "run.tool.result") {
      this.#parts.delete(event.payload.callId)
      // The whole output of a call comes before its result, which names it.
      if (event.payload.artifactId !== undefined) this.#published--
    }
  }

  /** The event with the artifacts of its call, if it is the result of one that has any. */
  addTo(event: EventDraft): EventDraft {
    if (event.type !== "run.tool.result" || this.#parts.size === 0) return event
    const { callId, content = [] } = event.payload
    const parts = this.#parts.get(callId)
    if (parts === undefined) return event
    this.#parts.delete(callId)
    return draft(event.type, { ...event.payload, content: [...content, ...parts] })
  }

  #add({ artifactId, callId, mediaType, name }: PayloadOf<"run.artifact.ready">): void {
    if (callId === undefined) {
      this.#published++
      return
    }
    const part = { type: kindOf(mediaType), artifactId, mediaType, name }
    const parts = this.#parts.get(callId)
    if (parts === undefined) this.#parts.set(callId, [part])
    else parts.push(part)
  }
}
