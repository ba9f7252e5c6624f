/**
 * Preferences of the signed-in user, stored at the Hub: the same in all browsers. A change is shown immediately, and sent for the version that
 * this page has. If another browser was faster, it is made again on the newer document.
 *
 * Guarantees: changes of this page are sent one after the other, in their order; a change that fails is not shown.
 */
import { CorralError } from "@corral/client/http/CorralError"
import { mergedFields } from "@corral/domain/preference/MergedFields"
import type { PreferenceChanges, Preferences } from "@corral/domain/preference/Preferences"
import { type QueryClient, queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"

export const preferencesQuery = queryOptions({
  queryKey: ["preferences"],
  queryFn: ({ signal }) => hubApi.preferences.get({ signal }),
  staleTime: 60_000
})

/** What changes, from the document as it is. */
export type PreferenceChange = (stored: Preferences) => PreferenceChanges

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
const mutationKey = queryKey

const sendToHub: SendChanges = (payload) => hubApi.preferences.update({ payload })

const replace = (client: QueryClient, next: (stored: Preferences) => Preferences): void =>
  void client.setQueryData(queryKey, (stored) => (stored === undefined ? undefined : next(stored)))

/** Shows a change before it is stored. A second time it changes nothing. */
const show = (client: QueryClient, change: PreferenceChange): void =>
  replace(client, (shown) => mergedFields(shown, change(shown)))

/** The function that changes preferences. */
export const useChangePreferences = (): ((change: PreferenceChange) => void) => {
  const client = useQueryClient()
  const { mutate } = useMutation({
    mutationKey,
    scope: { id: "preferences" },
    mutationFn: async (change: PreferenceChange) =>
      sendChange(await client.ensureQueryData(preferencesQuery), change, sendToHub),
    onMutate: async (change) => {
      // A read that began before has an older document. The end of it restores what was shown then.
      await client.cancelQueries({ queryKey })
      show(client, change)
    },
    onSuccess: (stored) => {
      // A later change of this page is shown already.
      const isLast = client.isMutating({ mutationKey }) === 1
      replace(client, (shown) => (isLast ? stored : { ...shown, version: stored.version }))
    },
    onError: () => client.invalidateQueries({ queryKey })
  })
  return (change) => {
    // Now: a checkbox that does not change with its click is set back.
    show(client, change)
    mutate(change)
  }
}

export const usePreferences = (): Preferences | undefined => useQuery(preferencesQuery).data
