/**
 * Items and sections of the palette for a query: what the console has, ranked here, what the Hub has found, and the parts of a text that match. Pure;
 * work is bounded by the length of query and text.
 */
import type { SearchResult } from "@corral/domain/search/SearchResult"
import type { WorkStatus } from "../status/SessionStatus.tsx"
import type { IconName } from "../ui/Icon.tsx"

const MAX_QUERY = 200
const MAX_WORDS = 10
const MAX_TEXT = 400

/** Lowercase with the same length, so that positions stay. */
const foldCase = (text: string): string => {
  const folded = text.toLowerCase()
  if (folded.length === text.length) return folded
  // A few letters, such as `İ`, have no lowercase of one character.
  return text.replaceAll(/./gsu, (character) => {
    const lower = character.toLowerCase()
    return lower.length === character.length ? lower : character
  })
}

export const queryWords = (query: string): ReadonlyArray<string> =>
  foldCase(query.slice(0, MAX_QUERY))
    .split(/\s+/)
    .filter((word) => word !== "")
    .slice(0, MAX_WORDS)

const isLetter = (character: string | undefined): boolean =>
  character !== undefined && /[\p{L}\p{N}]/u.test(character)

const initialsOf = (text: string): string =>
  text
    .split(/[^\p{L}\p{N}]+/u)
    .map((word) => word.slice(0, 1))
    .join("")

/** 4: begins the text; 3: begins a word; 2: is in it; 1: its initials; 0: none. */
const wordScore = (word: string, text: string, initials: string): number => {
  if (text.startsWith(word)) return 4
  let at = text.indexOf(word)
  if (at === -1) return word.length > 1 && initials.includes(word) ? 1 : 0
  for (; at !== -1; at = text.indexOf(word, at + 1)) if (!isLetter(text[at - 1])) return 3
  return 2
}

interface Searchable {
  readonly title: string
  readonly detail?: string | undefined
  readonly words?: string
}

const scoreOf = (
  words: ReadonlyArray<string>,
  { detail = "", title, words: more = "" }: Searchable
): number => {
  const name = foldCase(title.slice(0, MAX_TEXT))
  const rest = foldCase(`${detail} ${more}`.slice(0, MAX_TEXT))
  const initials = initialsOf(name)
  let total = 0
  for (const word of words) {
    const score = wordScore(word, name, initials) * 2 || wordScore(word, rest, "")
    if (score === 0) return 0
    total += score
  }
  // Of equal matches, the one with less around it.
  return total + 1 / (2 + name.length)
}

/** The best matches of every word of the query, at most `most`. Equal ones keep their order. */
export const ranked = <A extends Searchable>(
  query: string,
  items: ReadonlyArray<A>,
  most: number
): ReadonlyArray<A> => {
  const words = queryWords(query)
  if (words.length === 0) return items.slice(0, most)
  return items
    .map((item) => ({ item, score: scoreOf(words, item) }))
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score)
    .slice(0, most)
    .map(({ item }) => item)
}

interface TextPiece {
  readonly text: string
  readonly isMatch: boolean
}

/** The text in pieces, those that match a word of the query marked. */
export const markedPieces = (text: string, query: string): ReadonlyArray<TextPiece> => {
  const folded = foldCase(text)
  const isMarked = Array.from({ length: text.length }, () => false)
  for (const word of queryWords(query))
    for (let at = folded.indexOf(word); at !== -1; at = folded.indexOf(word, at + word.length))
      isMarked.fill(true, at, at + word.length)
  const pieces: Array<{ text: string; isMatch: boolean }> = []
  for (let at = 0; at < text.length; at++) {
    const isMatch = isMarked[at] ?? false
    const last = pieces.at(-1)
    if (last === undefined || last.isMatch !== isMatch) pieces.push({ text: text.charAt(at), isMatch })
    else last.text += text.charAt(at)
  }
  return pieces
}

const paletteKinds = [
  "changes",
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

/** What the palette lists: changes that wait, sessions, texts found by the Hub, places, devices and commands. */
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
  changes: 4,
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

/** Items and sections of the palette for a query: what the console has, ranked here, and what the Hub has found. Pure. */
export const paletteSections = (
  query: string,
  { itemOf, local, results }: PaletteContent
): ReadonlyArray<PaletteSection> => {
  if (query.trim() === "")
    return filled([
      { kind: "changes", items: local.changes.slice(0, most.changes) },
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
    best("changes"),
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
