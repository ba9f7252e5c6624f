/**
 * Change set of a run as files of a review. Hunks of a file load when its place comes into view.
 *
 * Guarantees: what is shown changes only by a decision that this page sends, or when the user loads it again, so that no line moves under a
 * reader. Changes by others are announced. At most a few requests run at the same time.
 */
import { CorralError } from "@corral/client/http/CorralError"
import type { ChangedFile, ChangeSet } from "@corral/domain/edge-api/ChangeSet"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { queryOptions, useInfiniteQuery, useQueries, useQuery, useQueryClient } from "@tanstack/react-query"
import { useCallback, useEffect, useMemo, useRef, useState } from "react"
import { hubApi } from "../api/Hub.ts"
import { useSameItems } from "../api/Lists.ts"
import { type SetContent, apartLast, setFile } from "./setFiles.ts"
import type { ReviewFile } from "./useChanges.ts"

/** Files of a page, as of the changes of a turn. */
const FILES = 200
/** Hunks of a page, and most pages of a file. */
const HUNKS = 200
const MOST_PAGES = 5
const MOST_REQUESTS = 3
/** Lines of context, from what is shown at first to all. */
const CONTEXTS = [3, 20, 100, 1_000] as const

type RunId = HubRun["id"]

/** Runs at most `most` works at the same time, in their order. */
const limited = (most: number) => {
  let active = 0
  const waiting: Array<() => void> = []
  return async <A>(work: () => Promise<A>): Promise<A> => {
    if (active < most) active++
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) active--
      else next()
    }
  }
}

const inTurn = limited(MOST_REQUESTS)

const readContent = async (
  id: RunId,
  fileId: ChangedFile["id"],
  context: number,
  signal: AbortSignal
): Promise<SetContent> => {
  const hunks: Array<SetContent["hunks"][number]> = []
  let cursor = ""
  for (let nth = 0; ; nth++) {
    const { items, nextCursor, sides } = await hubApi.changeSets.file({
      params: { id, fileId },
      query: { limit: HUNKS, context, ...(cursor === "" ? {} : { cursor }) },
      signal
    })
    hunks.push(...items)
    const isCut = nextCursor !== null && nth + 1 === MOST_PAGES
    if (nextCursor === null || isCut) return { hunks, isCut, ...(sides === undefined ? {} : { sides }) }
    cursor = nextCursor
  }
}

/** Undecided hunks of a file at this version, with lines of context. */
export const contentQuery = (
  id: RunId,
  { id: fileId, version }: Pick<ChangedFile, "id" | "version">,
  context: number = CONTEXTS[0]
) =>
  queryOptions({
    queryKey: ["change-file", id, fileId, version, context],
    queryFn: ({ signal }) => inTurn(() => readContent(id, fileId, context, signal)),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false
  })

/** The newest state of the set. Not part of the files: a hint about the set reads only this again. */
const headKey = (id: RunId) => ["changeSets", "head", id] as const

const useSetPages = (run: HubRun) => {
  const client = useQueryClient()
  const query = useInfiniteQuery({
    // Not a key of `changeSets`: hints must not load the files again.
    queryKey: ["change-set", run.id],
    queryFn: async ({ pageParam, signal }) => {
      const page = await hubApi.changeSets.get({
        params: { id: run.id },
        query: { limit: FILES, ...(pageParam === "" ? {} : { cursor: pageParam }) },
        signal
      })
      if (pageParam === "") client.setQueryData(headKey(run.id), page.set)
      return page
    },
    initialPageParam: "",
    getNextPageParam: ({ nextCursor }) => nextCursor,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnMount: "always",
    retry: (count, error) => !(error instanceof CorralError) && count < 2
  })
  const head = useQuery({
    queryKey: headKey(run.id),
    queryFn: async ({ signal }): Promise<ChangeSet> =>
      (await hubApi.changeSets.get({ params: { id: run.id }, query: { limit: 1 }, signal })).set,
    enabled: query.data !== undefined,
    staleTime: Number.POSITIVE_INFINITY
  }).data
  return { query, head }
}

/** Contents of the files that came into view. The last content of a file stays until the next one is there. */
const useContents = (run: HubRun, files: ReadonlyArray<ChangedFile>) => {
  const [wanted, setWanted] = useState<ReadonlySet<ChangedFile["id"]>>(new Set())
  const [contexts, setContexts] = useState<ReadonlyMap<ChangedFile["id"], number>>(new Map())
  const last = useRef(new Map<ChangedFile["id"], SetContent>())
  const want = useCallback(
    (id: ChangedFile["id"]) => setWanted((before) => (before.has(id) ? before : new Set([...before, id]))),
    []
  )
  const shown = files.filter(({ id }) => wanted.has(id))
  const queries = useQueries({
    queries: shown.map((file) => contentQuery(run.id, file, contexts.get(file.id)))
  })
  const failed = new Map<ChangedFile["id"], () => void>()
  const contents = new Map<ChangedFile["id"], SetContent>()
  for (const [at, { id }] of shown.entries()) {
    const found = queries[at]
    if (found?.data !== undefined) last.current.set(id, found.data)
    const content = last.current.get(id)
    if (content !== undefined) contents.set(id, content)
    else if (found?.isError === true) failed.set(id, () => void found.refetch())
  }
  const contextOf = (id: ChangedFile["id"]): number => contexts.get(id) ?? CONTEXTS[0]
  return {
    contents,
    failed,
    want,
    /** Leaves decided hunks out of contents whose next version is loading. */
    forget: (ids: ReadonlySet<string>) => {
      for (const [id, content] of last.current)
        if (content.hunks.some((hunk) => ids.has(hunk.id)))
          last.current.set(id, { ...content, hunks: content.hunks.filter((hunk) => !ids.has(hunk.id)) })
    },
    canWiden: (id: ChangedFile["id"]) => contextOf(id) < (CONTEXTS.at(-1) ?? 0),
    widen: (id: ChangedFile["id"]) =>
      setContexts((before) => {
        const next = CONTEXTS.find((context) => context > (before.get(id) ?? CONTEXTS[0]))
        return next === undefined ? before : new Map([...before, [id, next]])
      })
  }
}

export type ChangeSetView = ReturnType<typeof useChangeSet>

export const useChangeSet = (run: HubRun) => {
  const { head, query } = useSetPages(run)
  const [hidesBlank, setHidesBlank] = useState(false)
  const pages = query.data?.pages
  const first = pages?.[0]?.set
  const changed = useMemo(() => apartLast(pages?.flatMap(({ items }) => items) ?? []), [pages])
  const { contents, ...loading } = useContents(run, changed)
  const files: ReadonlyArray<ReviewFile> = useSameItems(
    changed.map((file) => setFile(file, contents.get(file.id), hidesBlank))
  )
  const { refetch } = query
  const isOutdated = first !== undefined && head !== undefined && head.version !== first.version
  // Nothing can move under a reader.
  const isDue = isOutdated && files.length === 0 && !query.isFetching
  useEffect(() => {
    if (isDue) void refetch()
  }, [isDue, refetch])
  return {
    ...loading,
    query,
    files,
    /** With the newest state and decisions, if its content is what is shown. */
    set: isOutdated ? first : (head ?? first),
    /** Whether a run of the set is live now. */
    isLive: (head ?? first)?.live ?? false,
    isComplete: query.isSuccess && !query.hasNextPage,
    isStale: isOutdated && files.length > 0 && !query.isFetching,
    hidesBlank,
    setHidesBlank,
    reload: refetch
  }
}
