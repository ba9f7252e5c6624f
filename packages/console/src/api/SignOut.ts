/** Sign-out: ends the sign-in of this browser and removes all data of the user for the next one. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { accountStorage } from "./AccountStorage.ts"
import { hubApi } from "./Hub.ts"

export const useSignOut = (): (() => void) => {
  const client = useQueryClient()
  const { mutate } = useMutation({
    mutationFn: () => hubApi.auth.logout(),
    onSettled: async () => {
      accountStorage.release()
      await client.resetQueries({ queryKey: ["auth"] })
      client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== "auth" })
    }
  })
  return () => mutate()
}
