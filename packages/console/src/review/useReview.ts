/** The review of a run, as it changes in this tab and in others. */
import { useCallback, useEffect, useSyncExternalStore } from "react"
import { accountStorage } from "../api/AccountStorage.ts"
import { ReviewStore, type StoredReview } from "./ReviewStore.ts"

export const reviewStore = new ReviewStore(accountStorage)

export const useReview = (runId: string): StoredReview => {
  useEffect(() => {
    const onStorage = ({ key }: StorageEvent) => {
      if (key === null || key.startsWith("corral.review")) reviewStore.reload()
    }
    window.addEventListener("storage", onStorage)
    return () => window.removeEventListener("storage", onStorage)
  }, [])
  return useSyncExternalStore(
    reviewStore.subscribe,
    useCallback(() => reviewStore.get(runId), [runId])
  )
}
