/**
 * Completion of a path after `@` in a message field: what is being typed, the files of the workspace that match it, and the entries as the list of a
 * combobox, above the composer or below it. The field keeps the focus.
 */
import { CorralError } from "@corral/client/http/CorralError"
import type { FileEntry } from "@corral/domain/device/Workspace"
import type { DeviceId, ProjectId, WorkspaceId } from "@corral/domain/identity/Ids"
import {
  type CSSProperties,
  type KeyboardEvent,
  type RefObject,
  useEffect,
  useEffectEvent,
  useLayoutEffect,
  useRef,
  useState
} from "react"
import { createPortal } from "react-dom"
import { hubApi } from "../api/Hub.ts"
import { type TypedSearch, useTypedSearch } from "../api/useTypedSearch.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { useErrorSentence } from "../ui/errorSentence.ts"
import { Icon } from "../ui/Icon.tsx"
import { composerMessages } from "./messages.ts"
import "./composer.css"

/** Longest path that is completed. */
const MAX_PATH = 256
/** A path that the caret is at the end of. */
interface Mention {
  /** Position of `@` in the text. */
  readonly start: number
  /** Part of the name or path of a file. */
  readonly query: string
}

const isSpace = (character: string): boolean => character.trim() === ""

/** The mention that ends at the caret. An address such as `ana@example.test` is none. */
export const mentionAt = (text: string, caret: number): Mention | undefined => {
  let start = caret - 1
  while (start >= 0 && caret - start <= MAX_PATH && text[start] !== "@") {
    if (isSpace(text.charAt(start))) return undefined
    start -= 1
  }
  if (text[start] !== "@") return undefined
  const before = text.charAt(start - 1)
  if (!isSpace(before) && !"([{\"'`".includes(before)) return undefined
  return { start, query: text.slice(start + 1, caret) }
}

/** The text with the entry's path, and the caret after it. A folder stays open: its entries come first. */
export const completeMention = (
  text: string,
  { start }: Mention,
  caret: number,
  { kind, path }: FileEntry
): { readonly text: string; readonly caret: number } => {
  const rest = text.slice(caret)
  const end = kind === "directory" ? "/" : isSpace(rest.charAt(0)) && rest !== "" ? "" : " "
  const head = `${text.slice(0, start)}@${path}${end}`
  return { text: head + rest, caret: head.length }
}

/** The workspace of the agent that receives the message. */
export interface MentionPlace {
  readonly projectId: ProjectId
  readonly targetId: DeviceId
  readonly workspace: WorkspaceId
  readonly targetName: string
  readonly isOnline: boolean
}

/** Most entries that are shown. */
const MOST = 50

/** Reads nothing without a query, and from an offline device. A workspace that still loads is searched once it is there. */
const useFoundFiles = (
  place: MentionPlace | "loading" | undefined,
  query: string | undefined
): TypedSearch<FileEntry> => {
  const workspace = place === "loading" ? undefined : place
  const found = useTypedSearch<FileEntry>(
    ["files", "find", workspace?.projectId, workspace?.targetId, workspace?.workspace],
    workspace?.isOnline === true ? query : undefined,
    (q, signal) =>
      workspace === undefined
        ? Promise.resolve({ items: [] })
        : hubApi.files.find({
            params: { id: workspace.targetId, workspace: workspace.workspace },
            query: { projectId: workspace.projectId, q, limit: MOST },
            signal
          })
  )
  return place === "loading" && query !== undefined ? { ...found, isSearching: true } : found
}

export interface OpenMention {
  readonly place: MentionPlace | "loading"
  readonly entries: ReadonlyArray<FileEntry>
  /** Index of the selected entry. */
  readonly selected: number
  readonly isSearching: boolean
  readonly error: Error | null
}

interface Selection {
  /** What was typed when the entry was selected. */
  readonly query: string
  readonly index: number
}

/**
 * State of the completion in a message field: the mention at the caret, its entries and the selected one. `caret` is undefined while the field
 * has no focus. `onChoose` completes the path.
 */
export const useMention = (
  text: string,
  caret: number | undefined,
  place: MentionPlace | "loading" | undefined,
  onChoose: (mention: Mention, entry: FileEntry) => void
) => {
  const [selection, setSelection] = useState<Selection>({ query: "", index: 0 })
  /** What was typed when a key chose the best match of a search without an answer yet. */
  const [awaited, setAwaited] = useState<string>()
  /** Position of the mention that was closed with Escape. */
  const [closedAt, setClosedAt] = useState<number>()
  const found = place === undefined || caret === undefined ? undefined : mentionAt(text, caret)
  const mention = found?.start === closedAt ? undefined : found
  const { error, isSearching, items: entries } = useFoundFiles(place, mention?.query)
  if (found === undefined && closedAt !== undefined) setClosedAt(undefined)

  const query = mention?.query ?? ""
  const selected = selection.query === query ? Math.min(selection.index, Math.max(entries.length - 1, 0)) : 0
  const select = (index: number) => setSelection({ query, index })
  const choose = (index: number) => {
    const entry = entries[index]
    if (mention !== undefined && entry !== undefined) onChoose(mention, entry)
  }
  const chooseAwaited = useEffectEvent(() => {
    if (awaited === query) choose(0)
    setAwaited(undefined)
  })
  useEffect(() => {
    if (awaited !== undefined && !isSearching) chooseAwaited()
  }, [awaited, isSearching])
  const state: OpenMention | undefined =
    mention === undefined || place === undefined
      ? undefined
      : { place, entries, selected, isSearching, error }

  /** Returns whether the key was for the completion. */
  const onKey = ({ key }: Pick<KeyboardEvent, "key">): boolean => {
    if (mention === undefined) return false
    if (key === "Escape") {
      setClosedAt(mention.start)
      return true
    }
    const isChoice = key === "Enter" || key === "Tab"
    if (isChoice && isSearching) {
      setAwaited(query)
      return true
    }
    if (entries.length === 0) return false
    if (key === "ArrowDown" || key === "ArrowUp") {
      const step = key === "ArrowDown" ? 1 : -1
      select((selected + step + entries.length) % entries.length)
      return true
    }
    if (!isChoice) return false
    choose(selected)
    return true
  }
  return { state, onKey, choose, select }
}

const GAP = 4
const MAX_HEIGHT = 288

const placementAt = (composer: Element): CSSProperties => {
  const { bottom, left, top, width } = composer.getBoundingClientRect()
  return top < innerHeight / 2
    ? { left, width, top: bottom + GAP, maxHeight: Math.min(MAX_HEIGHT, innerHeight - bottom - 2 * GAP) }
    : { left, width, bottom: innerHeight - top + GAP, maxHeight: Math.min(MAX_HEIGHT, top - 2 * GAP) }
}

/**
 * Place of a list that floats at a composer: above it, or below it in the upper half of the window. A scrolling ancestor does not cut it.
 * Follows the box of the composer that contains the field.
 */
const usePlacement = (field: RefObject<Element | null>): CSSProperties => {
  const [placement, setPlacement] = useState<CSSProperties>({})
  useLayoutEffect(() => {
    const composer = field.current?.closest(".composer")
    if (composer == null) return undefined
    const place = () => setPlacement(placementAt(composer))
    place()
    const sizes = new ResizeObserver(place)
    sizes.observe(composer)
    addEventListener("resize", place)
    addEventListener("scroll", place, true)
    return () => {
      sizes.disconnect()
      removeEventListener("resize", place)
      removeEventListener("scroll", place, true)
    }
  }, [field])
  return placement
}

interface MentionListProps {
  readonly id: string
  readonly field: RefObject<Element | null>
  readonly mention: OpenMention
  readonly onChoose: (index: number) => void
  readonly onSelect: (index: number) => void
}

export const optionId = (id: string, index: number): string => `${id}-${index}`

const MentionNote = ({
  mention: { entries, error, isSearching, place }
}: Pick<MentionListProps, "mention">) => {
  const messages = useMessages(composerMessages)
  const textOf = useErrorSentence()
  const note =
    place !== "loading" && !place.isOnline
      ? messages.filesOffline(place.targetName)
      : isSearching && entries.length === 0
        ? messages.filesLoading
        : error instanceof CorralError
          ? textOf(error)
          : entries.length === 0
            ? messages.noFiles
            : ""
  return (
    <p className={note === "" ? "hidden" : "mention-note"} role="status">
      {note}
    </p>
  )
}

/**
 * Completion of a path in a message field: its state, and its entries as the list of a combobox, above the composer or below it. The field keeps
 * the focus.
 */
export const MentionList = ({ field, id, mention, onChoose, onSelect }: MentionListProps) => {
  const messages = useMessages(composerMessages)
  const list = useRef<HTMLUListElement>(null)
  const placement = usePlacement(field)
  const { entries, selected } = mention
  useEffect(() => {
    list.current?.children[selected]?.scrollIntoView({ block: "nearest" })
  }, [selected])
  return createPortal(
    <div className="mentions" style={placement}>
      <MentionNote mention={mention} />
      <ul ref={list} id={id} role="listbox" aria-label={messages.files}>
        {entries.map(({ kind, name, path }, index) => (
          <li
            key={path}
            id={optionId(id, index)}
            className="mention"
            role="option"
            aria-selected={index === selected}
            // The field must not lose the focus.
            onMouseDown={(event) => event.preventDefault()}
            onMouseMove={() => index !== selected && onSelect(index)}
            onClick={() => onChoose(index)}
          >
            <Icon name={kind === "directory" ? "folder" : "file"} />
            <bdi className="mention-name">
              {visibleLine(name, 120)}
              {kind === "directory" ? "/" : ""}
            </bdi>
            {path.length > name.length && (
              <bdi className="mention-folder">{visibleLine(path.slice(0, -name.length - 1), 200)}</bdi>
            )}
          </li>
        ))}
      </ul>
    </div>,
    document.body
  )
}
