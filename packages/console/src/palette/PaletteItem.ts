/** What the palette lists: sessions, texts found by the Hub, places, devices and commands. */
import type { WorkStatus } from "../status/SessionStatus.ts"
import type { IconName } from "../ui/Icon.tsx"

export const paletteKinds = [
  "recent",
  "sessions",
  "commands",
  "threads",
  "files",
  "runs",
  "projects",
  "devices"
] as const
export type PaletteKind = (typeof paletteKinds)[number]

export interface PaletteItem {
  /** Unique in the palette. */
  readonly key: string
  readonly icon: IconName
  readonly title: string
  /** Where it is: the session of a found text, or the project of a session. */
  readonly detail?: string | undefined
  /** ISO 8601. */
  readonly at?: string
  readonly status?: WorkStatus
  /** Keys that do the same. */
  readonly shortcut?: string
  /** Further words that find the item, such as its name in the other language. */
  readonly words?: string
  readonly run: () => void
  /** Whether the page stays, and gets the focus back. */
  readonly stays?: boolean
}

export interface PaletteSection {
  readonly kind: PaletteKind
  readonly items: ReadonlyArray<PaletteItem>
}
