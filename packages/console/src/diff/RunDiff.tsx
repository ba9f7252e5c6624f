/** Changes of a run, file by file, as its Edge currently reports them. */
import type { FileDiff } from "@corral/domain/edge-api/Diff"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useInfiniteQuery } from "@tanstack/react-query"
import { useMemo, useState } from "react"
import { hubApi } from "../api/Hub.ts"
import { useMessages } from "../text/Language.tsx"
import { Loading } from "../ui/Loading.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { diffItemsOf, isInitiallyOpen } from "./DiffItem.ts"
import { DiffList } from "./DiffList.tsx"
import { DiffToolbar } from "./DiffToolbar.tsx"
import type { Layout } from "./rows.ts"
import { diffMessages } from "./messages.ts"
import { useDiffScroll } from "./useDiffScroll.ts"
import "./diff.css"

const useDiff = (runId: HubRun["id"]) =>
  useInfiniteQuery({
    queryKey: ["runs", runId, "diff"],
    queryFn: ({ pageParam, signal }) =>
      hubApi.runs.diff({
        params: { id: runId },
        query: { limit: 50, ...(pageParam === "" ? {} : { cursor: pageParam }) },
        signal
      }),
    initialPageParam: "",
    getNextPageParam: ({ nextCursor }) => nextCursor
  })

export const RunDiff = ({ runId }: { readonly runId: HubRun["id"] }) => {
  const messages = useMessages(diffMessages)
  const [layout, setLayout] = useState<Layout>("unified")
  const [toggled, setToggled] = useState<ReadonlyMap<string, boolean>>(new Map())
  const query = useDiff(runId)
  const files = useMemo(() => query.data?.pages.flatMap(({ items }) => items) ?? [], [query.data])
  const items = useMemo(
    () => files.flatMap((file) => diffItemsOf(file, toggled.get(file.path) ?? isInitiallyOpen(file), layout)),
    [files, toggled, layout]
  )
  const { onKeyDown, ...scroll } = useDiffScroll(items)
  const isOpen = (file: FileDiff) => toggled.get(file.path) ?? isInitiallyOpen(file)
  const setOpen = (some: ReadonlyArray<FileDiff>, open: boolean) =>
    setToggled((current) => new Map([...current, ...some.map(({ path }) => [path, open] as const)]))

  if (query.isLoading) return <Loading />
  if (query.error !== null) return <RefusalNote error={query.error} again={() => void query.refetch()} />
  return (
    <section className="diff" aria-label={messages.title} onKeyDown={onKeyDown}>
      <DiffToolbar
        fileCount={files.length}
        hasMore={query.hasNextPage}
        totals={query.data?.pages[0]}
        layout={layout}
        onLayout={setLayout}
        onOpenAll={(open) => setOpen(files, open)}
        onRefresh={() => void query.refetch()}
      />
      {files.length === 0 ? (
        <p className="empty">{messages.none}</p>
      ) : (
        <>
          <p className="quiet">{messages.hint}</p>
          <DiffList
            items={items}
            isOpen={isOpen}
            onToggle={(file) => setOpen([file], !isOpen(file))}
            scroll={scroll}
          />
          {query.hasNextPage && (
            <button
              type="button"
              className="button more"
              disabled={query.isFetchingNextPage}
              onClick={() => void query.fetchNextPage()}
            >
              {messages.moreFiles}
            </button>
          )}
        </>
      )}
    </section>
  )
}
