/**
 * Changed files of a run with the hashes of their content. Once there are any, they change only when the user loads them again, so that no line
 * moves under a reader.
 */
import type { FileDiff } from "@corral/domain/edge-api/Diff"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useInfiniteQuery } from "@tanstack/react-query"
import { useEffect, useMemo } from "react"
import { hubApi } from "../api/Hub.ts"
import type { FileParts } from "./setFiles.ts"

export interface ReviewFile {
  readonly diff: FileDiff
  /** Identifies the content, for marks of viewed files. */
  readonly hash: string
  /** Of a file in a change set. */
  readonly parts?: FileParts
}

/** A page has up to 200 files: the Edge compares the whole workspace for each page. */
const PAGE_SIZE = 200

const encoder = new TextEncoder()

const hashOf = async (diff: FileDiff): Promise<string> => {
  const digest = await crypto.subtle.digest("SHA-256", encoder.encode(JSON.stringify(diff)))
  return [...new Uint8Array(digest, 0, 16)].map((byte) => byte.toString(16).padStart(2, "0")).join("")
}

export const isRunOver = ({ state }: HubRun): boolean =>
  state === "completed" || state === "failed" || state === "cancelled"

/** Changes with each turn that starts or ends. */
const turnStamp = ([newest]: ReadonlyArray<HubRun>): string =>
  newest === undefined ? "" : `${newest.id} ${isRunOver(newest)}`

export const useChanges = (run: HubRun, runs: ReadonlyArray<HubRun>) => {
  const stamp = turnStamp(runs)
  const query = useInfiniteQuery({
    // Not a key of `runs`: hints about the run must not load the changes again.
    queryKey: ["run-diff", run.id],
    queryFn: async ({ pageParam, signal }) => {
      const { items, ...page } = await hubApi.runs.diff({
        params: { id: run.id },
        query: { limit: PAGE_SIZE, ...(pageParam === "" ? {} : { cursor: pageParam }) },
        signal
      })
      const files = await Promise.all(items.map(async (diff) => ({ diff, hash: await hashOf(diff) })))
      return { files, stamp, lastSeq: run.lastSeq, totals: page, nextCursor: page.nextCursor }
    },
    initialPageParam: "",
    getNextPageParam: ({ nextCursor }) => nextCursor,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnMount: "always"
  })
  const pages = query.data?.pages
  const files = useMemo((): ReadonlyArray<ReviewFile> => pages?.flatMap((page) => page.files) ?? [], [pages])
  const [first] = pages ?? []
  const isStale = first !== undefined && first.stamp !== stamp
  const isEmpty = query.isSuccess && files.length === 0
  // Nothing can move under a reader: the first changes of a turn appear as they are made.
  const isDue = isEmpty && (isStale || first?.lastSeq !== run.lastSeq)
  const { refetch } = query
  useEffect(() => {
    if (isDue) void refetch()
  }, [first, isDue, refetch])
  return {
    query,
    files,
    isComplete: query.isSuccess && !query.hasNextPage,
    totals: first?.totals,
    /** Whether a turn started or ended since the changes were loaded. */
    isStale: isStale && !isEmpty
  }
}

export type Changes = ReturnType<typeof useChanges>
