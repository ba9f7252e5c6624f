/**
 * What a run has changed, file by file, as its Edge says now. Files and lines are one list of which only what is in view is drawn: a file of
 * ten thousand lines costs no more than one of ten.
 */
import type { FileDiff } from "@corral/domain/edge-api/Diff"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useInfiniteQuery } from "@tanstack/react-query"
import { useVirtualizer } from "@tanstack/react-virtual"
import { type KeyboardEvent, useMemo, useRef, useState } from "react"
import { hubApi } from "../api/Hub.ts"
import { useMessages } from "../text/Language.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { DiffRow } from "./DiffRow.tsx"
import { FileHead } from "./FileHead.tsx"
import { languageOfFile } from "./languageOf.ts"
import { type Layout, type DiffEntry, rowsOf } from "./rows.ts"
import { diffMessages } from "./messages.ts"
import "./diff.css"

type Item =
  | { readonly kind: "file"; readonly file: FileDiff }
  | { readonly kind: "says"; readonly file: FileDiff; readonly text: "binary" | "truncated" | "empty" }
  | { readonly kind: "row"; readonly file: FileDiff; readonly row: DiffEntry }

const itemsOf = (file: FileDiff, open: boolean, layout: Layout): ReadonlyArray<Item> => {
  const head = { kind: "file", file } as const
  if (!open) return [head]
  const says = (text: "binary" | "truncated" | "empty") => ({ kind: "says", file, text }) as const
  if (file.binary) return [head, says("binary")]
  if (file.hunks.length === 0) return [head, says(file.truncated ? "truncated" : "empty")]
  const rows = rowsOf(file.hunks, layout).map((row) => ({ kind: "row", file, row }) as const)
  return [head, ...rows, ...(file.truncated ? [says("truncated")] : [])]
}

/** Files with more lines than this are closed at first. */
const LARGE = 500

const isOpenAtFirst = ({ additions, deletions }: FileDiff): boolean => additions + deletions <= LARGE

/** As tall as its lines and its border, up to what the screen has. */
const heightOf = (lines: number): string => `min(${lines + 2}px, max(20rem, calc(100dvh - 12rem)))`

export const RunDiff = ({ runId }: { readonly runId: HubRun["id"] }) => {
  const messages = useMessages(diffMessages)
  const [layout, setLayout] = useState<Layout>("unified")
  const [chosen, setChosen] = useState<ReadonlyMap<string, boolean>>(new Map())
  const scroller = useRef<HTMLDivElement>(null)
  const query = useInfiniteQuery({
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
  const files = useMemo(() => query.data?.pages.flatMap(({ items }) => items) ?? [], [query.data])
  const isOpen = (file: FileDiff) => chosen.get(file.path) ?? isOpenAtFirst(file)
  const items = useMemo(
    () => files.flatMap((file) => itemsOf(file, chosen.get(file.path) ?? isOpenAtFirst(file), layout)),
    [files, chosen, layout]
  )
  const virtual = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: (at) => (items[at]?.kind === "file" ? 40 : 20),
    overscan: 20
  })
  const set = (some: ReadonlyArray<FileDiff>, open: boolean) =>
    setChosen((now) => new Map([...now, ...some.map(({ path }) => [path, open] as const)]))

  const step = (by: 1 | -1) => {
    const heads = items.flatMap((item, at) => (item.kind === "file" ? [{ at, path: item.file.path }] : []))
    const focused = document.activeElement?.getAttribute("data-path")
    const here = heads.findIndex(({ path }) => path === focused)
    const next = heads[here === -1 ? 0 : Math.min(Math.max(here + by, 0), heads.length - 1)]
    if (next === undefined) return
    virtual.scrollToIndex(next.at, { align: "start" })
    // It is drawn with the next frame at the latest.
    requestAnimationFrame(() =>
      requestAnimationFrame(() =>
        scroller.current?.querySelector<HTMLElement>(`[data-at="${next.at}"]`)?.focus()
      )
    )
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key === "n" || event.key === "p") {
      event.preventDefault()
      step(event.key === "n" ? 1 : -1)
    }
  }

  const first = query.data?.pages[0]
  if (query.isLoading) return <p role="status">{messages.loading}</p>
  if (query.error !== null) return <RefusalNote error={query.error} again={() => void query.refetch()} />
  return (
    <section className="diff" aria-label={messages.title} onKeyDown={onKey}>
      <div className="diff-bar">
        <span>
          {messages.files(files.length)}
          {query.hasNextPage && "+"} <ins className="diff-plus">+{first?.additions}</ins>{" "}
          <del className="diff-minus">−{first?.deletions}</del>
        </span>
        <fieldset className="diff-layout">
          <legend className="hidden">{messages.layout}</legend>
          {(["unified", "split"] as const).map((name) => (
            <button key={name} type="button" aria-pressed={layout === name} onClick={() => setLayout(name)}>
              {messages[name]}
            </button>
          ))}
        </fieldset>
        <button type="button" className="button" onClick={() => set(files, true)}>
          {messages.expandAll}
        </button>
        <button type="button" className="button" onClick={() => set(files, false)}>
          {messages.collapseAll}
        </button>
        <button type="button" className="button" onClick={() => void query.refetch()}>
          {messages.refresh}
        </button>
      </div>
      {files.length === 0 ? (
        <p className="empty">{messages.none}</p>
      ) : (
        <>
          <p className="quiet">{messages.hint}</p>
          <div
            ref={scroller}
            className="diff-scroll"
            style={{ height: heightOf(virtual.getTotalSize()) }}
            tabIndex={0}
            role="group"
            aria-label={messages.lines}
          >
            <div className="diff-all" style={{ height: virtual.getTotalSize() }}>
              {virtual.getVirtualItems().map(({ index, start }) => {
                const item = items[index]
                if (item === undefined) return null
                return (
                  <div
                    key={index}
                    data-index={index}
                    ref={virtual.measureElement}
                    className="diff-place"
                    style={{ transform: `translateY(${start}px)` }}
                  >
                    {item.kind === "file" ? (
                      <FileHead
                        at={index}
                        file={item.file}
                        open={isOpen(item.file)}
                        onToggle={() => set([item.file], !isOpen(item.file))}
                      />
                    ) : item.kind === "says" ? (
                      <p className="diff-says">{messages[item.text]}</p>
                    ) : (
                      <DiffRow row={item.row} language={languageOfFile(item.file.path)} />
                    )}
                  </div>
                )
              })}
            </div>
          </div>
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
