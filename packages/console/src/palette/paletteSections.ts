/** Items and sections of the palette for a query: what the console has, ranked here, and what the Hub has found. Pure. */
import type { SearchResult } from "@corral/domain/search/SearchResult"
import type { WorkStatus } from "../status/SessionStatus.ts"
import type { IconName } from "../ui/Icon.tsx"
import { ranked } from "./rank.ts"

const paletteKinds = [
  "recent",
  "sessions",
  "commands",
  "threads",
  "files",
  "runs",
  "projects",
  "devices"
] as const
type PaletteKind = (typeof paletteKinds)[number]

/** What the palette lists: sessions, texts found by the Hub, places, devices and commands. */
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

/** Most items of a section. */
const most: { readonly [K in PaletteKind]: number } = {
  recent: 6,
  sessions: 6,
  commands: 6,
  threads: 8,
  files: 5,
  runs: 4,
  projects: 4,
  devices: 4
}

/** Without a query all commands are shown, so that readers learn what there is. */
const ALL_COMMANDS = 30

type Local = Exclude<PaletteKind, "recent" | "threads" | "files">

export interface PaletteContent {
  readonly local: { readonly [K in Local]: ReadonlyArray<PaletteItem> }
  readonly results: ReadonlyArray<SearchResult>
  readonly itemOf: (result: SearchResult) => PaletteItem
}

const isThread = ({ kind }: SearchResult): boolean =>
  kind === "message" || kind === "prompt" || kind === "result"

/** A message to an agent and the prompt of its run have the same text: one of them is shown. */
const distinct = (results: ReadonlyArray<SearchResult>): ReadonlyArray<SearchResult> =>
  [
    ...new Map(
      results.toReversed().map((result) => [`${result.sessionId ?? result.runId} ${result.excerpt}`, result])
    ).values()
  ].toReversed()

export const paletteSections = (
  query: string,
  { itemOf, local, results }: PaletteContent
): ReadonlyArray<PaletteSection> => {
  if (query.trim() === "")
    return filled([
      { kind: "recent", items: local.sessions.slice(0, most.recent) },
      { kind: "commands", items: local.commands.slice(0, ALL_COMMANDS) }
    ])
  const best = (kind: Local): PaletteSection => ({ kind, items: ranked(query, local[kind], most[kind]) })
  const sessions = best("sessions").items
  const listed = new Set(sessions.map(({ key }) => key))
  const titles = results
    .filter(({ kind, sessionId = "" }) => kind === "title" && !listed.has(sessionId))
    .map(itemOf)
  const found = (kind: "threads" | "files", fits: (result: SearchResult) => boolean): PaletteSection => ({
    kind,
    items: distinct(results.filter(fits)).slice(0, most[kind]).map(itemOf)
  })
  return filled([
    { kind: "sessions", items: [...sessions, ...titles].slice(0, most.sessions) },
    best("commands"),
    found("threads", isThread),
    found("files", ({ kind }) => kind === "files"),
    best("runs"),
    best("projects"),
    best("devices")
  ])
}

const filled = (sections: ReadonlyArray<PaletteSection>): ReadonlyArray<PaletteSection> =>
  sections.filter(({ items }) => items.length > 0)
