// Go-sse listens to an agent's messages with the library go-sse, and prints the id of each as a line.
//
//	go-sse ADDRESS KEY
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/tmaxmax/go-sse"
)

type message struct {
	ID string `json:"id"`
}

func main() {
	request, err := http.NewRequest(http.MethodGet, os.Args[1]+"/v1/agent-messages/events", nil)
	if err != nil {
		panic(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Args[2])
	request.Header.Set("X-Loci-Actor", "agent")
	client := sse.Client{
		Backoff: sse.Backoff{InitialInterval: 200 * time.Millisecond, Multiplier: 1, MaxRetries: -1, Jitter: .2},
		// A proxy answers with a page while the server is away.
		ResponseValidator: func(r *http.Response) error {
			if r.StatusCode != http.StatusOK {
				return fmt.Errorf("status %d", r.StatusCode)
			}
			return sse.DefaultValidator(r)
		},
	}
	connection := client.NewConnection(request)
	connection.SubscribeToAll(func(e sse.Event) {
		var data struct {
			Unread  []message `json:"unread"`
			Message *message  `json:"message"`
		}
		if err := json.Unmarshal([]byte(e.Data), &data); err != nil {
			panic(err)
		}
		for _, m := range data.Unread {
			fmt.Println(m.ID)
		}
		if data.Message != nil {
			fmt.Println(data.Message.ID)
		}
	})
	for {
		_ = connection.Connect() // it ends where the library does not try again
		time.Sleep(200 * time.Millisecond)
	}
}
