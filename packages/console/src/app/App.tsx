/** Root component: providers, sign-in gate and routes. */
import { QueryClientProvider } from "@tanstack/react-query"
import { RouterProvider } from "@tanstack/react-router"
import { LanguageProvider } from "../text/Language.tsx"
import { followAccount } from "../api/AccountStorage.ts"
import { queryClient } from "../api/QueryClient.ts"
import { SignInGate } from "./SignInGate.tsx"
import { showStoredTheme } from "../ui/Theme.ts"
import { router } from "./Router.tsx"

showStoredTheme()
followAccount()

export const App = () => (
  <LanguageProvider>
    <QueryClientProvider client={queryClient}>
      <SignInGate>
        <RouterProvider router={router} />
      </SignInGate>
    </QueryClientProvider>
  </LanguageProvider>
)
