/**
 * A message that is not sent yet: its text and its files. Only the composer reads the text, so a key renders nothing else.
 *
 * Guarantees: the draft is stored shortly after each change, and when the page is left.
 */
import type { SessionId } from "@corral/domain/identity/Ids"
import { useEffect, useSyncExternalStore } from "react"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { DraftFiles } from "./DraftFiles.ts"
import { readDraft, storeDraft } from "./StoredDrafts.ts"

/** Delay that combines the keys of a burst. */
const STORE_AFTER_MS = 300

/** Whether a draft can be sent. `blocked`: a file failed, and is neither sent nor lost without the user. */
export type DraftReadiness = "empty" | "filesOnly" | "uploading" | "blocked" | "ready"

export class Draft {
  private static readonly open = new Map<string, Draft>()

  /** The draft with this name: of a user in a session, or on the home page. */
  static of(name: string): Draft {
    const draft = Draft.open.get(name) ?? new Draft(name)
    Draft.open.set(name, draft)
    return draft
  }

  readonly files: DraftFiles
  private readonly name: string
  private current: string
  private timer: ReturnType<typeof setTimeout> | undefined
  private readonly listeners = new Set<() => void>()

  private constructor(name: string) {
    this.name = name
    const { files, text } = readDraft(name, Date.now())
    this.current = text
    this.files = new DraftFiles(files, () => this.changed())
  }

  readonly text = (): string => this.current

  readonly readiness = (): DraftReadiness => {
    const kinds = this.files.list().map(({ state }) => state.kind)
    if (kinds.includes("failed") || kinds.includes("refused")) return "blocked"
    if (kinds.includes("loading")) return "uploading"
    if (this.current.trim() !== "") return "ready"
    return kinds.length > 0 ? "filesOnly" : "empty"
  }

  /** Notifies of changes of the text and of the files. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  readonly write = (text: string): void => {
    this.current = text
    this.changed()
  }

  /** Removes what was sent. What was typed since stays. */
  removeSent(text: string, fileKeys: ReadonlyArray<string>): void {
    if (this.current.startsWith(text)) this.write(this.current.slice(text.length).trimStart())
    this.files.remove(fileKeys)
    this.store()
  }

  /** Brings a text back that was sent, if there is no other. Returns whether it did. */
  offer(text: string): boolean {
    if (this.readiness() !== "empty") return false
    this.write(text)
    return true
  }

  /** Puts a text that would be lost before the draft. */
  prepend(text: string): void {
    this.write(this.current.trim() === "" ? text : `${text}\n\n${this.current}`)
  }

  readonly store = (): void => {
    clearTimeout(this.timer)
    this.timer = undefined
    storeDraft(this.name, { text: this.current, files: this.files.stored() }, Date.now())
  }

  private changed(): void {
    this.timer ??= setTimeout(this.store, STORE_AFTER_MS)
    for (const listener of this.listeners) listener()
  }
}

export const useDraftText = ({ subscribe, text }: Draft): string => useSyncExternalStore(subscribe, text)

export const useDraftReadiness = ({ readiness, subscribe }: Draft): DraftReadiness =>
  useSyncExternalStore(subscribe, readiness)

export const useDraftFiles = ({ files }: Draft) => useSyncExternalStore(files.subscribe, files.list)

/** Stores the draft when its page is left. */
export const useStoredDraft = ({ store }: Draft): void =>
  useEffect(() => {
    addEventListener("pagehide", store)
    return () => {
      removeEventListener("pagehide", store)
      store()
    }
  }, [store])

/** The draft of the signed-in user in a session. */
export const useSessionDraft = (id: SessionId): Draft => Draft.of(`${useCurrentUser().user.id}.${id}`)
