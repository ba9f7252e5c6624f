/**
 * Loaded part of a list of sessions, newest change first, and how it takes up newer answers. Pure.
 *
 * A session that changes moves to the top, so the first page contains what changed since: a list of thousands is never read again.
 */
import type { SessionItem } from "@corral/domain/session/Session"

export interface SessionPages {
  readonly items: ReadonlyArray<SessionItem>
  /** Cursor of the next page, `null` at the end. */
  readonly nextCursor: string | null
}

const isOlder = (a: SessionItem, b: SessionItem): boolean =>
  a.updatedAt === b.updatedAt ? a.id < b.id : a.updatedAt < b.updatedAt

/** Sessions that are not in the other list. */
const without = (items: ReadonlyArray<SessionItem>, others: ReadonlyArray<SessionItem>) => {
  const ids = new Set(others.map(({ id }) => id))
  return items.filter(({ id }) => !ids.has(id))
}

/**
 * Takes up a newly read first page. Without a session in common that did not change, there may be others between the page and the loaded part:
 * then only the page remains, and the rest is loaded again as the reader scrolls.
 */
export const withFirstPage = (loaded: SessionPages | undefined, first: SessionPages): SessionPages => {
  const last = first.items.at(-1)
  if (loaded === undefined || last === undefined || first.nextCursor === null) return first
  const before = new Map(loaded.items.map(({ id, updatedAt }) => [id, updatedAt]))
  if (!first.items.some(({ id, updatedAt }) => before.get(id) === updatedAt)) return first
  const older = without(loaded.items, first.items).filter((item) => isOlder(item, last))
  return older.length === 0 ? first : { items: [...first.items, ...older], nextCursor: loaded.nextCursor }
}

/** Appends the page that `cursor` requested, if it still continues the list. */
export const withNextPage = (loaded: SessionPages, cursor: string, page: SessionPages): SessionPages =>
  loaded.nextCursor === cursor
    ? { items: [...loaded.items, ...without(page.items, loaded.items)], nextCursor: page.nextCursor }
    : loaded

/** Takes up one session that was read or changed alone. `isListed`: whether the list's filter admits it. */
export const withSession = (
  loaded: SessionPages,
  { id, projectId, state, title, unread, updatedAt }: SessionItem,
  isListed: boolean
): SessionPages => {
  const session: SessionItem = {
    id,
    projectId,
    state,
    title,
    updatedAt,
    ...(unread === undefined ? {} : { unread })
  }
  const before = loaded.items.find((item) => item.id === id)
  if (before !== undefined && isListed && before.updatedAt === updatedAt)
    return before.unread === unread && before.title === title
      ? loaded
      : { ...loaded, items: loaded.items.map((item) => (item.id === id ? session : item)) }
  if (before === undefined && !isListed) return loaded
  const others = loaded.items.filter((item) => item.id !== id)
  if (!isListed) return { ...loaded, items: others }
  const at = others.findIndex((item) => isOlder(item, session))
  // Beyond the loaded part it comes with its page.
  if (at === -1 && loaded.nextCursor !== null) return { ...loaded, items: others }
  return { ...loaded, items: others.toSpliced(at === -1 ? others.length : at, 0, session) }
}
