/**
 * Preferences of the signed-in user, stored at the Hub: the same in all browsers. A change is shown immediately, and sent for the version that
 * this page has. If another browser was faster, it is made again on the newer document. Theme and language have a copy in this browser for the
 * first paint and the sign-in page. The Hub's value wins; without one, the copy stays.
 *
 * Guarantees: changes of this page are sent one after the other, in their order; a change that fails is not shown.
 */
import { CorralError } from "@corral/client/http/CorralError"
import { mergedFields } from "@corral/domain/preference/ChangedPreferences"
import type { PreferenceChanges, Preferences } from "@corral/domain/preference/Preferences"
import { notifyManager, queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import { useEffect, useMemo, useSyncExternalStore } from "react"
import { hubApi } from "../api/Hub.ts"
import { type Language, useLanguage } from "../text/Language.tsx"
import { storeTheme, type Theme, useStoredTheme } from "../ui/Theme.ts"

export const preferencesQuery = queryOptions({
  queryKey: ["preferences"],
  queryFn: ({ signal }) => hubApi.preferences.get({ signal }),
  staleTime: 60_000
})

/** What changes, from the document as it is. */
type PreferenceChange = (stored: Preferences) => PreferenceChanges

/** Sends changes for a version of the document. Fails with a conflict, with the document, for another version. */
export type SendChanges = (changes: PreferenceChanges & { readonly version: number }) => Promise<Preferences>

/** Another browser is seldom faster, and hardly several times. */
const MAX_ATTEMPTS = 5

/** The newer document of a conflict. */
const newerOf = (error: unknown): Preferences | undefined =>
  // The Hub's documented details of this code.
  error instanceof CorralError && error.code === "conflict"
    ? (error.details["preferences"] as Preferences | undefined)
    : undefined

/** Sends a change until it was made for the newest version. */
export const sendChange = async (
  stored: Preferences,
  change: PreferenceChange,
  send: SendChanges,
  attempts = MAX_ATTEMPTS
): Promise<Preferences> => {
  try {
    return await send({ ...change(stored), version: stored.version })
  } catch (error) {
    const newer = newerOf(error)
    if (newer === undefined || attempts <= 1) throw error
    return sendChange(newer, change, send, attempts - 1)
  }
}

const { queryKey } = preferencesQuery

/** Changes of this page that are not stored yet, in their order. */
let pending: ReadonlyArray<PreferenceChange> = []
const listeners = new Set<() => void>()

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

const setPending = (changes: ReadonlyArray<PreferenceChange>): void => {
  pending = changes
  for (const listener of listeners) listener()
}

/** The preferences with the changes of this page; `undefined` until they are read. A change is there with its click. */
export const usePreferences = (): Preferences | undefined => {
  const { data } = useQuery(preferencesQuery)
  const changes = useSyncExternalStore(subscribe, () => pending)
  return useMemo(
    () => data && changes.reduce((shown, change) => mergedFields(shown, change(shown)), data),
    [changes, data]
  )
}

const sendToHub: SendChanges = (payload) => hubApi.preferences.update({ payload })

/** The function that changes preferences. */
export const useChangePreferences = (): ((change: PreferenceChange) => void) => {
  const client = useQueryClient()
  const { mutate } = useMutation({
    scope: { id: "preferences" },
    mutationFn: async (change: PreferenceChange) =>
      sendChange(await client.ensureQueryData(preferencesQuery), change, sendToHub),
    onSuccess: async (stored) => {
      // A read that is in progress can have an older document.
      await client.cancelQueries({ queryKey })
      client.setQueryData(queryKey, stored)
    },
    onError: () => client.invalidateQueries({ queryKey }),
    onSettled: (_stored, _error, change) =>
      // After the readers have the stored document.
      notifyManager.schedule(() => setPending(pending.filter((each) => each !== change)))
  })
  return (change) => {
    setPending([...pending, change])
    mutate(change)
  }
}

/** Brings the copies of this browser up to date while mounted. */
export const useBrowserCopies = (): void => {
  const { language, theme } = usePreferences() ?? {}
  const { selectLanguage } = useLanguage()
  useEffect(() => {
    if (theme !== undefined) storeTheme(theme)
  }, [theme])
  useEffect(() => {
    if (language !== undefined) selectLanguage(language)
  }, [language, selectLanguage])
}

export const useTheme = (): readonly [Theme, (theme: Theme) => void] => {
  const change = useChangePreferences()
  return [
    useStoredTheme(),
    (theme) => {
      storeTheme(theme)
      change(() => ({ theme }))
    }
  ]
}

export const useSelectLanguage = (): ((language: Language) => void) => {
  const change = useChangePreferences()
  const { selectLanguage } = useLanguage()
  return (language) => {
    selectLanguage(language)
    change(() => ({ language }))
  }
}
