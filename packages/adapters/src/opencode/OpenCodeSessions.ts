/**
 * Sessions of one run: the conversation itself, and those of its sub-agents, each with the call that started it.
 */
import { textOf, type JsonObject } from "../text/Json.ts"

interface ChildSession {
  readonly title: string
  parentCallId?: string | undefined
  isBusy: boolean
}

export class OpenCodeSessions {
  #main: string | undefined
  readonly #children = new Map<string, ChildSession>()

  get main(): string | undefined {
    return this.#main
  }

  open(session: string): void {
    this.#main = session
  }

  isMain(session: string | undefined): boolean {
    return session !== undefined && session === this.#main
  }

  /** Whether the session belongs to the run. A server may have others. */
  has(session: string): boolean {
    return session === this.#main || this.#children.has(session)
  }

  /** Adds a session that a known one has created. */
  add(info: JsonObject): void {
    const [id, parent] = [textOf(info["id"]), textOf(info["parentID"])]
    if (id === undefined || parent === undefined || !this.has(parent) || this.has(id)) return
    this.#children.set(id, { title: textOf(info["title"]) ?? "Sub-agent", isBusy: true })
  }

  /** Records the call that started a session. */
  link(session: string, callId: string): void {
    const child = this.#children.get(session)
    if (child !== undefined) child.parentCallId ??= callId
  }

  /** The call that started a session; `undefined` for the conversation itself. */
  parentCallOf(session: string): string | undefined {
    return this.#children.get(session)?.parentCallId
  }

  setBusy(session: string, isBusy: boolean): void {
    const child = this.#children.get(session)
    if (child !== undefined) child.isBusy = isBusy
  }

  isBusy(session: string): boolean {
    return this.#children.get(session)?.isBusy === true
  }

  /** Sub-agents that are working. */
  get busy(): ReadonlyArray<{
    readonly id: string
    readonly title: string
    readonly parentCallId?: string | undefined
  }> {
    return [...this.#children].flatMap(([id, { isBusy, parentCallId, title }]) =>
      isBusy ? [{ id, title, parentCallId }] : []
    )
  }
}
